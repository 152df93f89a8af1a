"""Items of a section: a bullet or plain line together with everything that hangs on it."""

import textwrap
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.working_memory.lines import (
    LineKind,
    fence_closer,
    fence_opener,
    is_heading,
    is_plain_line,
    opens_item_with_fence,
    scan_body,
)
from app.domain.working_memory.wording import (
    has_mark,
    is_filler,
    is_hint,
    is_mark_only,
    normalised,
    without_mark,
    without_marks,
)

_CONTINUATION = "  "
_TAB_WIDTH = 4


@dataclass(slots=True)
class _Open:
    """An item while it is being read."""

    indent: int
    bullets: int
    shown: list[str]
    said: list[str]
    blank: list[str] = field(default_factory=list)

    def add(self, line: str, said: str) -> None:
        self.shown += [*self.blank, line]
        self.blank = []
        if said:
            self.said.append(said)


@dataclass(frozen=True)
class Item:
    """One item: `text` is what it says from the first word on, later lines as they were written.

    bullets counts its own mark and the nested ones; a fence that belongs to no item has none. said is what counts
    when items are compared: no comments, no fence marks.
    """

    text: str
    bullets: int
    said: str

    @cached_property
    def key(self) -> str:
        """The normalised text, equal for items that say the same; '' when it says nothing."""
        return normalised(without_marks(self.said))


def read_items(body: str) -> list[Item]:
    """Return the items in order, including fences that belong to none; no hints, fillers, headings or rules."""
    return _Reader().read(body)


def count_bullets(body: str) -> int:
    """Return how many bullet lines and plain lines the body has; nested bullets count, wrapped lines do not."""
    return sum(item.bullets for item in read_items(body))


def item_of(text: str) -> Item | None:
    """Return one item out of text that a model offered as an item, as it will be read from the document.

    Its own list mark is taken off. None when it says nothing: a rule, a lone mark, a filler.
    """
    lines = text.strip().split("\n")
    start = next((at for at, line in enumerate(lines) if not _says_nothing(line.strip())), None)
    if start is None:
        return None
    trimmed = without_mark(textwrap.dedent("\n".join(lines[start:])).strip())
    if is_plain_line(trimmed):
        return Item(trimmed, 1, trimmed)
    match read_items(bullet(trimmed)):
        case [item]:
            return Item(trimmed, item.bullets, item.said)
        case []:
            return None
        case _:
            return Item(trimmed, 1, trimmed)


def key_of(text: str) -> str:
    """Return the key of a text that stands for one item; '' when it says nothing."""
    item = item_of(text)
    return item.key if item else ""


def _says_nothing(trimmed: str) -> bool:
    return not trimmed or is_mark_only(trimmed) or is_filler(trimmed)


def bullet(text: str) -> str:
    """Return the item as lines of a list, its later lines indented by at least two spaces."""
    first, *rest = text.split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=len(_CONTINUATION))
    shift = " " * max(0, len(_CONTINUATION) - margin)
    return "\n".join([f"- {first}".rstrip(), *(f"{shift}{line}" if line.strip() else "" for line in rest)])


def _indent(line: str) -> int:
    expanded = line.expandtabs(_TAB_WIDTH)
    return len(expanded) - len(expanded.lstrip())


def _without_fence(line: str) -> str:
    """A fence says nothing by itself: closing one that was left open must not make another item of it."""
    run = fence_opener(line) or fence_closer(line)
    return line.replace(run, "", 1) if run else line


class _Reader:
    def __init__(self) -> None:
        self._items: list[Item] = []
        self._open: _Open | None = None
        self._nothing_read = True

    def read(self, body: str) -> list[Item]:
        scan = scan_body(body)
        for line, kind in zip(scan.lines, scan.kinds, strict=True):
            if not line.strip() and kind is LineKind.TEXT:
                self._blank(line)
            elif kind is LineKind.FENCE:
                self._fenced(line)
            elif kind is LineKind.COMMENT:
                self._comment(line)
            else:
                self._text(line)
        self._finish()
        return self._items

    def _blank(self, line: str) -> None:
        if self._open:
            self._open.blank.append(line)

    def _comment(self, line: str) -> None:
        if self._open:
            self._open.add(line, said="")

    def _fenced(self, line: str) -> None:
        own_item = opens_item_with_fence(line) and not self._continues(line)
        if self._open and not own_item:
            self._open.add(line, _without_fence(line))
            return
        text = without_mark(line.strip()) if own_item else line
        self._start(text, _indent(line), 1 if own_item else 0, _without_fence(text))

    def _text(self, line: str) -> None:
        trimmed = line.strip()
        first, self._nothing_read = self._nothing_read, False
        if self._continues(line):
            self._continue(line, trimmed)
        elif (first and is_hint(trimmed)) or is_heading(trimmed) or _says_nothing(trimmed):
            self._finish()
        else:
            self._start(without_mark(trimmed), _indent(line), 1)

    def _continue(self, line: str, trimmed: str) -> None:
        assert self._open is not None
        self._open.add(line.rstrip(), trimmed)
        if has_mark(trimmed) and not is_mark_only(trimmed):
            self._open.bullets += 1

    def _continues(self, line: str) -> bool:
        """Nested bullets stand two columns further in; a wrapped line need only be indented at all."""
        if self._open is None:
            return False
        deeper = _indent(line) - self._open.indent
        return deeper >= len(_CONTINUATION) or (deeper > 0 and not has_mark(line.strip()))

    def _start(self, text: str, indent: int, bullets: int, said: str | None = None) -> None:
        self._finish()
        self._open = _Open(indent, bullets, [text], [text if said is None else said])

    def _finish(self) -> None:
        if self._open:
            self._items.append(Item("\n".join(self._open.shown), self._open.bullets, "\n".join(self._open.said)))
        self._open = None
