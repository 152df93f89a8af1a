"""Making text from outside safe to store in one section."""

import re
import textwrap
from typing import Final

from app.domain.working_memory.document import closed_body, demoted
from app.domain.working_memory.items import bullet, item_of
from app.domain.working_memory.lines import LineKind, header_section, is_plain_line, scan_body, trim_blank_lines
from app.domain.working_memory.operations import Append, Keep, SectionOp, Update, items_of_text
from app.domain.working_memory.sections import Section
from app.domain.working_memory.sentinel import is_sentinel, without_sentinel
from app.domain.working_memory.wording import has_mark

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_LEVEL_2: Final = re.compile(r"\s*## +\S")


def storable_text(text: str) -> str:
    """Return the text without what a UTF-8 text column cannot hold: NUL is dropped, lone surrogates are replaced."""
    return _UNSTORABLE.sub(lambda match: "" if match.group() == "\x00" else "\ufffd", text)


def sanitised_body(section: Section, text: str) -> str:
    """Return a body that opens no section and leaves nothing open, for text that a model or a person wrote.

    A leading copy of the section's own header is dropped, other level-2 headings outside fences become level 3,
    a fence or comment that is left open is closed, and an indent that all lines share is taken off.
    """
    text = storable_text(text)
    if section is Section.KEY_FACTS:
        text = without_sentinel(text)
    if is_plain_line(text):
        return text.strip()
    scan = scan_body(text)
    lines: list[str] = []
    for line, kind in zip(scan.lines, scan.kinds, strict=True):
        own_header = kind is LineKind.TEXT and header_section(line) is section
        if own_header and not any(map(str.strip, lines)):
            continue
        lines.append(demoted(line) if kind is LineKind.TEXT and _LEVEL_2.match(line) else line)
    if scan.closer:
        lines.append(scan.closer)
    return textwrap.dedent(trim_blank_lines(lines)).lstrip()


def sanitised_op(section: Section, op: SectionOp) -> SectionOp:
    """Return the operation with texts that are safe to store; items lose their own list mark, empty ones go.

    A copy of the sentinel goes too: only the guard of its section writes it.
    """
    if isinstance(op, Keep):
        return op
    if isinstance(op, Update):
        return Update(sanitised_body(section, op.content), op.truncated)
    items = (item_of(sanitised_body(section, text)) for item in op.items for text in _separate(item))
    return Append(tuple(item.text for item in items if item and not _is_copy(section, item.text)), op.truncated)


def _is_copy(section: Section, text: str) -> bool:
    return section is Section.KEY_FACTS and is_sentinel(text)


def _separate(item: str) -> tuple[str, ...]:
    """An item that is a whole list of bullets stands for that many items; nested bullets stay with theirs."""
    first, *rest = item.strip().split("\n")
    is_list = has_mark(first) and any(has_mark(line) for line in rest)
    return items_of_text(item) if is_list else (item,)


def appended(body: str, items: tuple[str, ...]) -> str:
    """Return the body with one bullet per item below it."""
    if not items:
        return body
    start = [closed_body(body).rstrip()] if body.strip() else []
    return "\n".join([*start, *map(bullet, items)])
