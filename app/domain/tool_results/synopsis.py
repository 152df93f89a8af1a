"""What a large text holds, in a line or two: shapes, columns, keys, names; taken from the text, not made up."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from app.domain.tool_results.kinds import DELIMITERS, SAMPLE_CHARS, Kind, json_value, table_rows, yaml_keys

MOST_NAMES: Final = 20
LONGEST_NAME: Final = 60

_TAG: Final = re.compile(r"<([A-Za-z][\w:.-]*)")
_IMPORT: Final = re.compile(r"^\s*(?:import|from|#include|using|require|use)\s+[<\"'(]*([\w./:@-]+)", re.MULTILINE)
_DEFINITION: Final = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|pub\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|impl|type)\s+([\w$]+)",
    re.MULTILINE,
)
_HEADING: Final = re.compile(
    r"^(?:#{1,6}\s+(.+)|(第[一二三四五六七八九十百\d]+[章节節回].*)|([一二三四五六七八九十]+、.+))$", re.MULTILINE
)


def synopsis(text: str, kind: Kind) -> str:
    """Return what a text of this kind holds, at most a few hundred characters."""
    sample = text[:SAMPLE_CHARS]
    match kind:
        case Kind.JSON:
            return _shape(json_value(text), text)
        case Kind.CSV | Kind.TSV:
            rows = table_rows(sample, DELIMITERS[kind])
            return f"about {_lines(text)} rows; columns: {_names(rows[0])}"
        case Kind.YAML:
            return f"{_lines(text)} lines; keys: {_names(yaml_keys(sample))}"
        case Kind.XML:
            return f"elements: {_counted(_TAG.findall(sample))}"
        case Kind.CODE:
            found = (("imports", _IMPORT.findall(sample)), ("defines", _DEFINITION.findall(sample)))
            named = [f"{word}: {_names(names)}" for word, names in found if names]
            return "; ".join([f"{_lines(text)} lines", *named])
        case Kind.BINARY:
            return "not readable as text"
        case Kind.TEXT:
            headings = [next(filter(None, groups)) for groups in _HEADING.findall(sample)]
            return f"{_lines(text)} lines" + (f"; headings: {_names(headings)}" if headings else "")


def _shape(value: object, text: str) -> str:
    match value:
        case dict() if value:
            return f"object with {len(value)} keys: {_members(value)}"
        case list() if value:
            inner = f", the first an object with {_members(value[0])}" if isinstance(value[0], dict) else ""
            return f"array of {len(value)}{inner}"
        case _:
            return f"too long to be read here; {_lines(text)} lines"


def _members(value: Mapping[str, object]) -> str:
    return _names(f"{name} ({_type(member)})" for name, member in value.items())


def _type(value: object) -> str:
    match value:
        case dict():
            return f"object of {len(value)}"
        case list():
            return f"array of {len(value)}"
        case str():
            return f"text of {len(value)}"
        case bool():
            return "true or false"
        case None:
            return "null"
        case _:
            return "number"


def _names(names: Iterable[str]) -> str:
    shown = [name.strip()[:LONGEST_NAME] for name in dict.fromkeys(names)]
    rest = len(shown) - MOST_NAMES
    return ", ".join(shown[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _counted(names: Iterable[str]) -> str:
    return _names(f"{name} ×{count}" if count > 1 else name for name, count in Counter(names).most_common())


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
