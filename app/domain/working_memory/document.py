"""The document as people and models see it: seven sections under one title."""

import re
from typing import Final

from app.domain.working_memory.items import read_items
from app.domain.working_memory.lines import (
    LineKind,
    fence_closer,
    fence_opener,
    header_section,
    is_heading,
    scan_body,
    scan_document,
    split_lines,
    trim_blank_lines,
)
from app.domain.working_memory.sections import SECTIONS, Bodies, Section

DOCUMENT_TITLE: Final = "# Working Memory"
_ABSTRACT_LENGTH: Final = 200
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])")
_LABEL: Final = re.compile(r"^\*\*[^*\n]+\*\*:\s*(\S.*)$", re.MULTILINE)


def parse_document(text: str) -> dict[Section, str]:
    """Return the sections that the text has, in the order of their first header, with their trimmed bodies.

    One code fence around the whole is taken off. Text before the first header is left out, bodies of a repeated
    header are joined, and headings with other names are part of the body they stand in.
    """
    scan = scan_document(unwrap_outer_fence(text))
    found: dict[Section, list[list[str]]] = {}
    lines: list[str] | None = None
    for line, kind in zip(scan.lines, scan.kinds, strict=True):
        section = header_section(line) if kind is LineKind.TEXT else None
        if section is not None:
            lines = []
            found.setdefault(section, []).append(lines)
        elif lines is not None:
            lines.append(line)
    return {section: _joined(parts) for section, parts in found.items()}


def _joined(parts: list[list[str]]) -> str:
    if len(parts) == 1:
        return trim_blank_lines(parts[0])
    return "\n".join(filter(None, (closed_body(trim_blank_lines(part)) for part in parts)))


def render_document(bodies: Bodies) -> str:
    """Return the whole document, ending in one LF: all seven sections once each, whatever the bodies hold."""
    parts = [DOCUMENT_TITLE, ""]
    for section in SECTIONS:
        body = confined_body(bodies.get(section, ""))
        parts += [f"## {section}", body, ""] if body else [f"## {section}", ""]
    return "\n".join(parts).rstrip() + "\n"


def has_sections(text: str) -> bool:
    """Tell whether the text has at least one of the seven headers, so that an update can build on it."""
    return bool(parse_document(text))


def closed_body(body: str) -> str:
    """Return the body with a fence or comment that it leaves open closed at its end."""
    closer = scan_body(body).closer
    return f"{body}\n{closer}" if closer else body


def confined_body(body: str) -> str:
    """Return the body as it can stand in a document without touching another section."""
    scan = scan_body(body)
    lines = [
        demoted(line) if kind is LineKind.TEXT and header_section(line) else line
        for line, kind in zip(scan.lines, scan.kinds, strict=True)
    ]
    if scan.closer:
        lines.append(scan.closer)
    return trim_blank_lines(lines)


def demoted(line: str) -> str:
    """Return a level-2 heading as level 3."""
    return line.replace("##", "###", 1)


def unwrap_outer_fence(text: str) -> str:
    """Take off one code fence that a model put around the whole document; other text comes back unchanged."""
    lines = split_lines(text.removeprefix("\ufeff"))
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None or not _holds_document(lines, first):
        return text if first is None or _sections_outside_fences(text) else _unwrap_inner(lines)
    return _without_last_closer(lines[first + 1 :])


def _holds_document(lines: list[str], opener: int) -> bool:
    if fence_opener(lines[opener]) is None:
        return False
    inner = next((line.strip() for line in lines[opener + 1 :] if line.strip()), "")
    return is_heading(inner)


def _without_last_closer(lines: list[str]) -> str:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    inner = "\n".join(lines[:end])
    if end and fence_closer(lines[end - 1]) and scan_body(inner).closer:
        return "\n".join(lines[: end - 1])
    return inner


def _sections_outside_fences(text: str) -> bool:
    scan = scan_document(text)
    return any(
        kind is LineKind.TEXT and header_section(line) for line, kind in zip(scan.lines, scan.kinds, strict=True)
    )


def _unwrap_inner(lines: list[str]) -> str:
    """A model may write a sentence first and put the document into a fence below it."""
    opener = next((index for index, line in enumerate(lines) if fence_opener(line)), None)
    if opener is None or not _holds_document(lines, opener):
        return "\n".join(lines)
    closers = [index for index in range(opener + 1, len(lines)) if fence_closer(lines[index])]
    end = closers[-1] + 1 if closers else len(lines)
    return _without_last_closer(lines[opener + 1 : end])


def abstract(bodies: Bodies) -> str:
    """Return the title and the first sentence of the current state, at most about 200 characters."""
    title = _first_text(bodies.get(Section.SESSION_TITLE, ""))
    state = _SENTENCE_END.split(_first_text(bodies.get(Section.CURRENT_STATE, "")), maxsplit=1)[0].strip()
    return _shortened(" — ".join(filter(None, (title, state))))


def abstract_of_text(text: str) -> str:
    """Return the abstract of any stored overview; one without sections gives its first labelled or first line."""
    bodies = parse_document(text)
    if bodies:
        return abstract(bodies)
    label = _LABEL.search(text)
    line = label.group(1) if label else next((line for line in split_lines(text) if line.strip()), "")
    return _shortened(line.strip())


def _first_text(body: str) -> str:
    for item in read_items(body):
        if item.bullets:
            return item.text.split("\n", 1)[0].strip()
    return ""


def _shortened(text: str) -> str:
    return text if len(text) <= _ABSTRACT_LENGTH else text[: _ABSTRACT_LENGTH - 1].rstrip() + "…"
