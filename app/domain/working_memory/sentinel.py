"""The line that says a section is full. It counts for no bullet, token or anchor."""

from typing import Final

from app.domain.working_memory.wording import without_mark

_START: Final = "[⚠ CONSOLIDATION REQUIRED: "
SENTINEL: Final = f"{_START}this section is full; rewrite it with fewer and denser bullets before anything is added]"


def is_sentinel(line: str) -> bool:
    """Tell whether a line, with or without its list mark, is the sentinel in any wording behind its start."""
    return without_mark(line.strip()).replace("\ufe0f", "").startswith(_START.rstrip())


def without_sentinel(body: str) -> str:
    """Return the body without sentinel lines; a body without one comes back unchanged."""
    lines = body.split("\n")
    rest = [line for line in lines if not is_sentinel(line)]
    return body if len(rest) == len(lines) else "\n".join(rest).strip("\n")
