"""Reading section values out of JSON that no parser takes.

A reader that goes through the text once, from left to right. It takes any quote style and key order, quotes inside
texts, missing brackets and a text that breaks off; it never raises.
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from app.domain.working_memory.sections import SECTIONS, Section

_CLOSERS: Final = {'"': '"', "“": "”“", "”": "”", "'": "'", "‘": "’‘", "’": "’", "＂": "＂"}
_QUOTES: Final = "".join(_CLOSERS)
_STOPS: Final = {opener: re.compile(rf"[{closers}\\]") for opener, closers in _CLOSERS.items()}
_DEEPEST: Final = 8


def _name_pattern(section: Section) -> str:
    halves = [r"\s+".join(map(re.escape, half.split())) for half in section.value.split(" & ")]
    return r"(?:\s*(?:&amp;|&|\\u0026)\s*|\s+and\s+|\s+)".join(halves)


_NAMES: Final = "|".join(f"({_name_pattern(section)})" for section in SECTIONS)
_PLAIN_NAMES: Final = "|".join(map(_name_pattern, SECTIONS))
_SECTION_KEY: Final = re.compile(rf"(?:[{_QUOTES}]|\b)(?:{_NAMES})(?:[{_QUOTES}]\s*[:：]|\s*[:：](?=\s*{{))")
_NEXT_KEY: Final = re.compile(rf"[,}}\]\s]*[{_QUOTES}](?:{_PLAIN_NAMES}|op|content|items)[{_QUOTES}]\s*[:：]")
_SPACE: Final = re.compile(r"\s*")
_BETWEEN: Final = re.compile(r"[\s,，]*")
_BARE: Final = re.compile(rf"[^\s,:：{{}}\[\]{_QUOTES}]+")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/bfnrt']))")
_CUT_ESCAPE: Final = re.compile(r"(?<!\\)\\(?:u[0-9a-fA-F]{0,3})?$")
_SIMPLE_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DRIVE_PATH: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\(?![\\\"'/])[^\s\"'<>|*?]*")
_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True, slots=True)
class LooseText:
    """A string as read: cut means that the text ended before its closing quote, bare that it has no quotes."""

    text: str
    cut: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class LooseObject:
    """Key and value pairs in the order written; keys may repeat."""

    pairs: tuple[tuple[str, "LooseValue"], ...]

    def last(self, key: str) -> "LooseValue | None":
        return next((value for name, value in reversed(self.pairs) if name == key), None)


LooseValue: TypeAlias = "LooseText | LooseObject | tuple[LooseValue, ...]"


def read_section_values(text: str, *, objects_only: bool) -> list[tuple[Section, LooseValue]]:
    """Return every section name in the text that a value follows, with that value, in the order written."""
    reader = _Reader(text)
    found: list[tuple[Section, LooseValue]] = []
    for match in _SECTION_KEY.finditer(text):
        if match.start() < reader.position:
            continue
        reader.position = match.end()
        if objects_only and not reader.next_is("{"):
            continue
        assert match.lastindex is not None
        found.append((SECTIONS[match.lastindex - 1], reader.value()))
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0

    def next_is(self, sign: str) -> bool:
        self._skip(_SPACE)
        return self._text.startswith(sign, self.position)

    def value(self, depth: int = 0) -> LooseValue:
        self._skip(_SPACE)
        sign = self._text[self.position : self.position + 1]
        if sign == "{" and depth < _DEEPEST:
            return self._object(depth)
        if sign == "[" and depth < _DEEPEST:
            return self._array(depth)
        return self._scalar(sign, is_key=False)

    def _scalar(self, sign: str, *, is_key: bool) -> LooseText:
        if sign and sign in _QUOTES:
            return self._string(sign, is_key=is_key)
        match = _BARE.match(self._text, self.position)
        self.position = match.end() if match else self.position + 1
        return LooseText(match.group() if match else "", cut=not sign, bare=True)

    def _object(self, depth: int) -> LooseObject:
        self.position += 1
        pairs: list[tuple[str, LooseValue]] = []
        while sign := self._next_in_container():
            if sign == "}":
                self.position += 1
                break
            if _SECTION_KEY.match(self._text, self.position):
                break
            key = self._scalar(sign, is_key=True)
            if self.next_is(":") or self.next_is("："):
                self.position += 1
                pairs.append((key.text, self.value(depth + 1)))
        return LooseObject(tuple(pairs))

    def _array(self, depth: int) -> tuple[LooseValue, ...]:
        self.position += 1
        values: list[LooseValue] = []
        while sign := self._next_in_container():
            if sign == "]":
                self.position += 1
                break
            if sign == "}" or _SECTION_KEY.match(self._text, self.position):
                break
            values.append(self.value(depth + 1))
        return tuple(values)

    def _next_in_container(self) -> str:
        self._skip(_BETWEEN)
        return self._text[self.position : self.position + 1]

    def _string(self, opener: str, *, is_key: bool) -> LooseText:
        start = at = self.position + 1
        stops = _STOPS[opener]
        while match := stops.search(self._text, at):
            at = match.end() + (match.group() == "\\")
            if match.group() != "\\" and self._closes(at, is_key=is_key):
                self.position = at
                return LooseText(decoded(self._text[start : match.start()]))
        self.position = len(self._text)
        return LooseText(decoded(_CUT_ESCAPE.sub("", self._text[start:])), cut=True)

    def _closes(self, after: int, *, is_key: bool) -> bool:
        """A quote closes a text only before what may follow a text; any other one belongs to it."""
        at = self._end(_SPACE, after)
        sign = self._text[at : at + 1]
        if sign in (":", "："):
            return is_key
        if not sign or sign in "}]":
            return True
        if sign in ",，":
            follower = self._text[self._end(_BETWEEN, at) :][:1]
            return not follower or follower in "}]{[" or follower in _QUOTES
        return _NEXT_KEY.match(self._text, after) is not None

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self.position = self._end(pattern, self.position)

    def _end(self, pattern: re.Pattern[str], start: int) -> int:
        match = pattern.match(self._text, start)
        return match.end() if match else start


def decoded(raw: str) -> str:
    """Return the text between two JSON quotes; what is no escape stays, and so do the back-slashes of a path."""
    parts: list[str] = []
    end = 0
    for match in _DRIVE_PATH.finditer(raw):
        path = match.group()
        parts.append(_unescaped(raw[end : match.start()]))
        parts.append(path if _is_path(path) else _unescaped(path))
        end = match.end()
    text = "".join([*parts, _unescaped(raw[end:])])
    return _SURROGATE_PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _is_path(token: str) -> bool:
    r"""'C:\new\tools' and 'D:\notes.txt' are paths, 'Plan B:\nnext' is a line break after a colon."""
    tail = token[3:]
    if token[2:4] != "\\n":
        return True
    return "\\" in tail or "." in tail.rstrip(".") or token[0] in "CDEcde"


def _unescaped(raw: str) -> str:
    return _ESCAPE.sub(_character, raw)


def _character(match: re.Match[str]) -> str:
    code, sign = match.groups()
    return chr(int(code, 16)) if code else _SIMPLE_ESCAPES.get(sign, sign)
