"""A document as it is shown where there is little room: sections that only grow are shown by their newest items."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.items import read_items
from app.domain.working_memory.operations import Append, SectionOp, SectionOps, Update
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sizes import newest_items

MOST_ERRORS: Final = 50
"""Errors & Corrections is a log that never shrinks: readers see its newest items, rows keep all."""

_GROWING: Final = (
    Section.KEY_FACTS,
    Section.FILES_AND_CONTEXT,
    Section.ERRORS_AND_CORRECTIONS,
    Section.OPEN_ISSUES,
)
_NOTE: Final = "[… older items of this section, kept and not shown here: {}. What is new can only be added]"
_IS_NOTE: Final = re.compile(r"\s*(?:[-*] )?\[… older items of this section\b")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Bodies to show, and the sections of which older items are left out; a line in each says how many."""

    bodies: Bodies
    in_part: frozenset[Section] = frozenset()


def newest_errors(bodies: Bodies) -> Excerpt:
    """Return the document with only the newest corrections."""
    section = Section.ERRORS_AND_CORRECTIONS
    return _excerpt(bodies, {section: _newest(bodies.get(section, ""), MOST_ERRORS)})


def first_lines(text: str, *, room: int, count_tokens: TokenCounter) -> str:
    """Return as many whole lines from the beginning of a text as fit `room` tokens."""
    if count_tokens(text) <= room:
        return text
    shown: list[str] = []
    for line in text.split("\n"):
        room -= count_tokens(line + "\n")
        if room < 0:
            break
        shown.append(line)
    return "\n".join(shown)


def fitting(bodies: Bodies, *, room: int, count_tokens: TokenCounter) -> Excerpt:
    """Return the document with as many of the newest items as fit `room` tokens.

    Title, state and goals stay whole; goals too are shown in part where the three of them alone do not fit. The
    sections that grow share what is left evenly; one that needs less than its share leaves the rest to the others.
    """
    newest = newest_errors(bodies)
    sizes = {section: count_tokens(newest.bodies.get(section, "")) for section in SECTIONS}
    if sum(sizes.values()) <= room:
        return newest
    growing: tuple[Section, ...] = _GROWING
    left = room - sum(sizes[section] for section in SECTIONS if section not in growing)
    if left < 0:
        growing = (*_GROWING, Section.TASK_AND_GOALS)
        left += sizes[Section.TASK_AND_GOALS]
    shown: dict[Section, str] = {}
    for position, section in enumerate(sorted(growing, key=lambda name: sizes[name])):
        share = max(left, 0) // (len(growing) - position)
        shown[section] = _largest(newest.bodies.get(section, ""), bodies.get(section, ""), share, count_tokens)
        left -= count_tokens(shown[section])
    return _excerpt(bodies, shown)


def additions_only(ops: SectionOps, in_part: Iterable[Section]) -> SectionOps:
    """Return the operations of a writer who saw some sections in part: there an UPDATE adds its items.

    Taken at its word it would wipe out what the writer was not shown.
    """
    return {**ops, **{section: _added(ops[section]) for section in in_part if section in ops}}


def _added(op: SectionOp) -> SectionOp:
    match op:
        case Update(content=content, truncated=truncated):
            return Append(_without_notes(item.text for item in read_items(content)), truncated)
        case Append(items=items, truncated=truncated):
            return Append(_without_notes(items), truncated)
        case _:
            return op


def _without_notes(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for item in items if not _IS_NOTE.match(item))


def _excerpt(bodies: Bodies, shown: Mapping[Section, str]) -> Excerpt:
    changed = frozenset(section for section, body in shown.items() if body != bodies.get(section, ""))
    return Excerpt({**bodies, **shown}, changed)


def _newest(body: str, most: int) -> str:
    newest = newest_items(body, most)
    if not newest.left_out:
        return body
    return "\n".join(filter(None, (_NOTE.format(newest.left_out), newest.body)))


def _largest(shown: str, whole: str, room: int, count_tokens: TokenCounter) -> str:
    """Return what is shown already if it fits, else the most of the newest items that do; the note at least."""
    if count_tokens(shown) <= room:
        return shown
    low, high = 0, len(read_items(whole))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(_newest(whole, middle)) <= room else (low, middle - 1)
    newest = _newest(whole, low)
    return newest if count_tokens(newest) < count_tokens(shown) else shown
