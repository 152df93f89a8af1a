"""Reading Markdown line by line: what is text, what stands inside a fence or a comment.

Everything here walks the text once, so the cost grows with its length and with nothing else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from app.domain.working_memory.sections import Section, find_section

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MARK: Final = r"(?:[-*+•·–—]|\d{1,3}[.)])[ \t]+"
_FENCE_OPENER: Final = re.compile(rf"[ \t]*((?:{_MARK})*)(`{{3,}}(?=[^`]*$)|~{{3,}})")
_FENCE_CLOSER: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
_HEADING: Final = re.compile(r"#{1,6}(?:\s|$)")
_NOT_PLAIN: Final = re.compile(r"[\r\n]|```|~~~|<!--|##")
_LONGEST_NAME: Final = 80


class LineKind(Enum):
    """Where a line stands. Only TEXT can open a section or an item."""

    TEXT = auto()
    FENCE = auto()
    COMMENT = auto()


@dataclass(frozen=True, slots=True)
class Scan:
    """The lines of a text, the kind of each, and what has to follow to close what stayed open."""

    lines: tuple[str, ...]
    kinds: tuple[LineKind, ...]
    closer: str


def split_lines(text: str) -> list[str]:
    """Split at LF, CRLF and CR only; '' has one empty line."""
    return _LINE_END.split(text)


def trim_blank_lines(lines: Sequence[str]) -> str:
    """Join the lines without the blank ones at both ends; the indent of the first text line stays."""
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end]).rstrip()


def is_plain_line(text: str) -> bool:
    """Tell whether a text is one line that opens no fence, comment or section; the usual case, decided quickly."""
    return _NOT_PLAIN.search(text) is None


def header_section(line: str) -> Section | None:
    """Return the section whose level-2 header this line is, whatever its indent, case and closing hashes."""
    trimmed = line.strip()
    if not trimmed.startswith("## ") or len(trimmed) > _LONGEST_NAME:
        return None
    return find_section(trimmed[3:].strip().rstrip("#").strip())


def is_heading(trimmed: str) -> bool:
    """Tell whether a trimmed line is a Markdown heading: one to six hashes, then white space."""
    return _HEADING.match(trimmed) is not None


def fence_opener(line: str) -> str | None:
    """Return the run of backticks or tildes that opens a fence here, also right after a list mark."""
    match = _FENCE_OPENER.match(line)
    return match.group(2) if match else None


def opens_item_with_fence(line: str) -> bool:
    """Tell whether a list mark stands before the fence, so that the fence begins an item of its own."""
    match = _FENCE_OPENER.match(line)
    return bool(match and match.group(1))


def fence_closer(line: str) -> str | None:
    match = _FENCE_CLOSER.match(line)
    return match.group(1) if match else None


def _longest_closers(lines: Sequence[str]) -> dict[str, list[int]]:
    """For each fence sign: the length of the longest closer at or after every line."""
    longest = {"`": [0] * (len(lines) + 1), "~": [0] * (len(lines) + 1)}
    for index in range(len(lines) - 1, -1, -1):
        run = fence_closer(lines[index])
        for sign, lengths in longest.items():
            here = len(run) if run and run[0] == sign else 0
            lengths[index] = max(here, lengths[index + 1])
    return longest


def _comment_ends(lines: Sequence[str]) -> list[bool]:
    ends = [False] * (len(lines) + 1)
    for index in range(len(lines) - 1, -1, -1):
        ends[index] = ends[index + 1] or "-->" in lines[index]
    return ends


class _Scanner:
    def __init__(self, lines: Sequence[str], *, headers_end_open_fences: bool) -> None:
        self._lines = lines
        self._closers = _longest_closers(lines)
        self._comment_ends = _comment_ends(lines)
        self._headers_end_open_fences = headers_end_open_fences
        self._fence = ""
        self._fence_is_closed_later = False
        self._in_comment = False

    def kinds(self) -> list[LineKind]:
        return [self._kind(index, line) for index, line in enumerate(self._lines)]

    def closer(self) -> str:
        if self._fence:
            return self._fence
        return "-->" if self._in_comment else ""

    def _kind(self, index: int, line: str) -> LineKind:
        if self._fence:
            return self._inside_fence(line)
        if self._in_comment:
            return self._inside_comment(line)
        run = fence_opener(line)
        if run:
            self._fence = run
            self._fence_is_closed_later = self._closers[run[0]][index + 1] >= len(run)
            return LineKind.FENCE
        return self._text_or_comment(index, line)

    def _inside_fence(self, line: str) -> LineKind:
        if not self._fence_is_closed_later and self._headers_end_open_fences and header_section(line):
            self._fence = ""
            return LineKind.TEXT
        run = fence_closer(line)
        if run and run[0] == self._fence[0] and len(run) >= len(self._fence):
            self._fence = ""
        return LineKind.FENCE

    def _inside_comment(self, line: str) -> LineKind:
        _, end, after = line.partition("-->")
        self._in_comment = not end
        return LineKind.TEXT if after.strip() else LineKind.COMMENT

    def _text_or_comment(self, index: int, line: str) -> LineKind:
        start = line.rfind("<!--")
        if start < 0:
            return LineKind.TEXT
        trimmed = line.strip()
        if line.find("-->", start) >= 0:
            whole = trimmed.startswith("<!--") and trimmed.find("-->") == len(trimmed) - 3
            return LineKind.COMMENT if whole else LineKind.TEXT
        if self._headers_end_open_fences and not self._comment_ends[index + 1]:
            return LineKind.TEXT
        self._in_comment = True
        return LineKind.TEXT if line[:start].strip() else LineKind.COMMENT


def scan_document(text: str) -> Scan:
    """Scan text that may hold section headers: what nobody closes ends at the next header.

    A byte order mark at its start is left out.
    """
    return _scan(text.removeprefix("\ufeff"), headers_end_open_fences=True)


def scan_body(text: str) -> Scan:
    """Scan one section's text: what nobody closes lasts to its end, and `closer` says what would close it."""
    return _scan(text, headers_end_open_fences=False)


def _scan(text: str, *, headers_end_open_fences: bool) -> Scan:
    lines = split_lines(text)
    scanner = _Scanner(lines, headers_end_open_fences=headers_end_open_fences)
    kinds = scanner.kinds()
    return Scan(tuple(lines), tuple(kinds), scanner.closer())
