"""No path, link or ticket disappears."""

from collections import defaultdict

from app.domain.working_memory.containment import find_containing
from app.domain.working_memory.guards.repeats import guard_repeats
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict, append_or_keep
from app.domain.working_memory.items import Item, read_items
from app.domain.working_memory.operations import Append, Update
from app.domain.working_memory.references import comparable_references


def guard_files(op: Update | Append, old: str) -> Verdict:
    """Refuse a rewrite that loses an old reference, and append instead what it says that the section does not."""
    if isinstance(op, Append):
        return guard_repeats(op, old)
    if comparable_references(old) <= comparable_references(op.content):
        return Verdict(op)
    fresh = _not_yet_said(read_items(op.content), read_items(old))
    return append_or_keep(
        tuple(item.text for item in fresh), Verdict(op, Guard.FILES_NO_REGRESSION, Reason.REFERENCES_LOST)
    )


def _not_yet_said(offered: list[Item], known: list[Item]) -> list[Item]:
    """Leave out what stands in an old item with the same references; what is offered twice comes once."""
    known_by_references: dict[frozenset[str], list[str]] = defaultdict(list)
    for item in known:
        known_by_references[comparable_references(item.text)].append(item.key)
    unique = {item.key: item for item in offered if item.key}
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for key, item in unique.items():
        groups[comparable_references(item.text)].append(key)
    said: set[str] = set()
    for references, keys in groups.items():
        said.update(keys[index] for index in find_containing(keys, known_by_references[references]))
    return [item for key, item in unique.items() if key not in said]
