"""How much of what a section says survives in a new text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.working_memory.anchors import Anchor, AnchorKind, comparable_value, find_anchors
from app.domain.working_memory.containment import find_containing
from app.domain.working_memory.items import Item
from app.domain.working_memory.stop_words import FUNCTION_WORDS
from app.domain.working_memory.wording import is_cjk, normalised, pairs, stem, subject_pairs, words


@dataclass(frozen=True)
class Saying:
    """A new text, prepared for the question what of an old one it still says."""

    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """Folded stems, plain words, and for CJK runs their character pairs and characters."""
        found: set[str] = set()
        for word in words(self.text):
            if is_cjk(word):
                found.update(pairs(word), word)  # the pairs, and each character for runs of one
            else:
                found.update((word, stem(word)))
        return frozenset(found)

    @cached_property
    def dates(self) -> frozenset[str]:
        """Dates, and what is left of them without the year."""
        dates = {anchor.text for anchor in self._anchors if anchor.kind is AnchorKind.DATE}
        return frozenset(dates | {date[5:] for date in dates if len(date) > 7})

    @cached_property
    def values(self) -> frozenset[str]:
        return frozenset(comparable_value(a.text) for a in self._anchors if a.kind is AnchorKind.VALUE)

    @cached_property
    def _anchors(self) -> frozenset[Anchor]:
        return find_anchors(self.text)

    @cached_property
    def _folded(self) -> str:
        return normalised(self.text)

    def has(self, anchor: Anchor) -> bool:
        match anchor.kind:
            case AnchorKind.DATE:
                return anchor.text in self.dates
            case AnchorKind.VALUE:
                return comparable_value(anchor.text) in self.values
            case _:
                return stem(anchor.text) in self.words or (is_cjk(anchor.text) and anchor.text in self._folded)

    def half_covers(self, item: Item) -> bool:
        """Tell whether at least half of what the item is about occurs; an item without such words is covered."""
        subject = content_words(item.said)
        return 2 * len(subject & self.words) >= len(subject)


def content_words(text: str) -> frozenset[str]:
    """Return the stems of words of three and more letters and the CJK character pairs: what a text is about."""
    found: set[str] = set()
    for word in words(text):
        if is_cjk(word):
            found.update(subject_pairs(word))
        elif len(word) > 2 and not word.isdecimal() and word not in FUNCTION_WORDS:
            found.add(stem(word))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the old anchors the new text has; an item without a specific one counts as an anchor itself."""

    covered: int
    total: int

    def is_below(self, percent: int) -> bool:
        return self.covered * 100 < self.total * percent


def coverage(old: Sequence[Item], new: Saying) -> Coverage:
    """Count over the old items what of them is in the new text."""
    anchors: set[Anchor] = set()
    covered = total = 0
    for item in old:
        own = find_anchors(item.said)
        anchors |= own
        if not any(anchor.is_specific for anchor in own) and content_words(item.said):
            total += 1
            covered += new.half_covers(item)
    return Coverage(covered + sum(map(new.has, anchors)), total + len(anchors))


def without_place(old: Sequence[Item], new: Sequence[Item]) -> list[Item]:
    """Return the old items that are neither equal to a new one nor contained in one, each once."""
    keys = {item.key for item in new}
    missing = {item.key: item for item in old if item.key and item.key not in keys}
    contained = find_containing(list(missing), list(keys)) if missing else {}
    return [item for index, item in enumerate(missing.values()) if index not in contained]


def unknown_items(offered: Sequence[Item], known: Sequence[Item]) -> list[Item]:
    """Return the offered items that say something and equal no known one, each once."""
    seen = {item.key for item in known}
    fresh: list[Item] = []
    for item in offered:
        if item.key and item.key not in seen:
            seen.add(item.key)
            fresh.append(item)
    return fresh
