"""The line that says a section is full. It counts for no bullet, token or anchor."""

from typing import Final

from app.domain.working_memory.lines import LineKind, scan_body, trim_blank_lines
from app.domain.working_memory.wording import without_mark

_SIGN: Final = "⚠"
_START: Final = f"[{_SIGN} CONSOLIDATION REQUIRED: "
SENTINEL: Final = f"{_START}this section is full; rewrite it with fewer and denser bullets before anything is added]"


def is_sentinel(text: str) -> bool:
    """Tell whether an item, with or without its list mark, is the sentinel in any wording behind its start."""
    return without_mark(text.lstrip()).replace("\ufe0f", "").startswith(_START.rstrip())


def without_sentinel(body: str) -> str:
    """Return the body without sentinel lines; a body without one comes back unchanged."""
    if _SIGN not in body:
        return body
    scan = scan_body(body)
    rest = [
        line
        for line, kind in zip(scan.lines, scan.kinds, strict=True)
        if kind is not LineKind.TEXT or line[:1].isspace() or not is_sentinel(line)
    ]
    return body if len(rest) == len(scan.lines) else trim_blank_lines(rest)


def has_sentinel(body: str) -> bool:
    return without_sentinel(body) != body
