"""What kind of text a tool gave: found by its shape, never by its language."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

SAMPLE_CHARS: Final = 64_000
LARGEST_PARSED_CHARS: Final = 1_000_000
"""A longer text is judged by its beginning and its end: parsing it whole would hold up whoever sends it."""


class Kind(StrEnum):
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    YAML = "yaml"
    XML = "xml"
    CODE = "code"
    TEXT = "text"
    BINARY = "binary"


MIME_TYPES: Final[Mapping[Kind, str]] = {
    Kind.JSON: "application/json",
    Kind.CSV: "text/csv",
    Kind.TSV: "text/tab-separated-values",
    Kind.YAML: "application/yaml",
    Kind.XML: "application/xml",
    Kind.CODE: "text/plain",
    Kind.TEXT: "text/plain",
    Kind.BINARY: "application/octet-stream",
}

DELIMITERS: Final[Mapping[Kind, str]] = {Kind.TSV: "\t", Kind.CSV: ","}

_UNREADABLE: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_UNREADABLE_SHARE: Final = 0.05
_ENCODED: Final = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{400,}={0,2}")
_XML_START: Final = re.compile(r"<(?:\?xml|!DOCTYPE|!--|[A-Za-z][\w:.-]*[\s/>])", re.IGNORECASE)
_XML_END: Final = re.compile(r"(?:</[\w:.-]+|/|--)\s*>$")
_CODE: Final = re.compile(
    r"(?:import|from|package|using|export|require|#include|use)\b[\s\"'<{(]"
    r"|(?:public|private|protected|static|async|def|class|function|func|fn|interface|struct|enum|impl|const|let|var|type)\s"
    r"|(?:return|if|for|while|else|elif|try|except|catch)\b.*[:{;]$"
    r"|[\w.\[\]]+\s*(?::=|[-+*]?=)\s\S|@\w+|[})\]]+[;,]?$|//|\S.*[;{]$"
)
_DEFINES: Final = re.compile(
    r"(?:import|from|package|using|#include|def|class|function|func|fn|interface|struct|impl|public|private|static)\b"
)
_CODE_SHARE: Final = 0.4
_YAML: Final = re.compile(r"(?:- )?[\w\"'./-]+(?: [\w-]+)?:(?:\s|$)|- \S|#|---$|\.\.\.$")
_YAML_KEY: Final = re.compile(r"^([\w\"'./-]+):(?:\s|$)", re.MULTILINE)
_YAML_SHARE: Final = 0.8
_FEWEST_ROWS: Final = 3
_LONGEST_COLUMN: Final = 60


def kind_of(text: str) -> Kind:
    """Return the kind of a text; TEXT for everything that looks like nothing else."""
    sample = text[:SAMPLE_CHARS]
    if _is_binary(sample):
        return Kind.BINARY
    if json_value(text) is not None:
        return Kind.JSON
    if _XML_START.match(sample.lstrip()) and _XML_END.search(text[-200:].rstrip()):
        return Kind.XML
    for kind, delimiter in DELIMITERS.items():
        if table_rows(sample, delimiter):
            return kind
    lines = [line.strip() for line in sample.splitlines() if line.strip()]
    if _is_code(lines):
        return Kind.CODE
    return Kind.YAML if _is_yaml(sample, lines) else Kind.TEXT


def json_value(text: str) -> object | None:
    """Return what an object or array in JSON holds; one per line comes as a list. None for what is no such text.

    Of a text that is too long to be parsed, the shape of its ends decides, and the value is empty.
    """
    body = text.strip()
    if not body or (body[0], body[-1]) not in {("{", "}"), ("[", "]")}:
        return None
    if len(body) > LARGEST_PARSED_CHARS:
        return {} if body[0] == "{" else []
    whole = _parsed(body)
    if whole is not None:
        return whole
    lines = [_parsed(line) for line in body.splitlines() if line.strip()]
    return lines if len(lines) > 1 and None not in lines else None


def table_rows(sample: str, delimiter: str) -> list[list[str]]:
    """Return the rows of a table, all as wide as the first; empty for what is none."""
    lines = sample.splitlines(keepends=True)
    complete = lines[:-1] if len(sample) == SAMPLE_CHARS else lines
    try:
        rows = [row for row in csv.reader(complete, delimiter=delimiter) if row]
    except csv.Error:
        return []
    if len(rows) < _FEWEST_ROWS or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return []
    return [] if _reads_as_prose(rows) else rows


def _reads_as_prose(rows: Sequence[Sequence[str]]) -> bool:
    """Sentences with a comma each are no table: there a blank follows the comma, or a clause is no name of a column."""
    later = [cell for row in rows for cell in row[1:]]
    if sum(cell.startswith(" ") for cell in later) > len(later) // 2:
        return True
    return not all(0 < len(name.strip()) <= _LONGEST_COLUMN for name in rows[0])


def yaml_keys(sample: str) -> list[str]:
    """Return the keys at the top of a YAML text, each once."""
    return list(dict.fromkeys(_YAML_KEY.findall(sample)))


def _parsed(text: str) -> object | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _is_binary(sample: str) -> bool:
    if len(_UNREADABLE.findall(sample)) > _UNREADABLE_SHARE * len(sample):
        return True
    encoded = sum(len(run) for run in _encoded_runs(sample))
    return encoded > len(sample) // 2


def _encoded_runs(sample: str) -> Iterator[str]:
    for match in _ENCODED.finditer(sample):
        run = match[0]
        if any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run)):
            yield run


def _is_code(lines: Sequence[str]) -> bool:
    if sum(bool(_DEFINES.match(line)) for line in lines) < 2:
        return False
    return sum(bool(_CODE.match(line)) for line in lines) >= _CODE_SHARE * len(lines)


def _is_yaml(sample: str, lines: Sequence[str]) -> bool:
    if len(yaml_keys(sample)) < 2:
        return False
    return sum(bool(_YAML.match(line)) for line in lines) >= _YAML_SHARE * len(lines)
