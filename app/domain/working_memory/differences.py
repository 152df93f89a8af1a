"""What changed between two documents, item by item."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.working_memory.items import Item, read_items
from app.domain.working_memory.sections import SECTIONS, Bodies, Section


@dataclass(frozen=True, slots=True)
class SectionDifference:
    """The items of one section that came and that went, as they are written; a moved item did neither."""

    section: Section
    added: tuple[str, ...]
    removed: tuple[str, ...]
    kept: int

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed)


def differences(before: Bodies, after: Bodies) -> tuple[SectionDifference, ...]:
    """Return all seven sections in order, compared by what their items say (markup, case and spacing aside)."""
    return tuple(_difference(section, before.get(section, ""), after.get(section, "")) for section in SECTIONS)


def _difference(section: Section, before: str, after: str) -> SectionDifference:
    old, new = read_items(before), read_items(after)
    added = _missing(new, Counter(item.key for item in old))
    removed = _missing(old, Counter(item.key for item in new))
    return SectionDifference(section, added, removed, len(new) - len(added))


def _missing(items: Sequence[Item], there: Counter[str]) -> tuple[str, ...]:
    """Return the items that have no counterpart; each counterpart accounts for one."""
    missing = []
    for item in items:
        if there[item.key] > 0:
            there[item.key] -= 1
        else:
            missing.append(item.text)
    return tuple(missing)
