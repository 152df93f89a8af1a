"""The document in a context: a reserve that it is sure of, and the sections it gives up when it does not fit."""

from collections.abc import Mapping
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.document import DOCUMENT_TITLE, confined_body
from app.domain.working_memory.sections import SECTIONS, Bodies, Section

RESERVE_TOKENS: Final = 2_000
RESERVE_SHARE: Final = 4
"""The overview is sure of a quarter of the budget, of 2,000 tokens, or of its size, whichever is least."""

SHORTENING_ORDER: Final = (
    Section.FILES_AND_CONTEXT,
    Section.ERRORS_AND_CORRECTIONS,
    Section.KEY_FACTS,
    Section.TASK_AND_GOALS,
    Section.OPEN_ISSUES,
    Section.CURRENT_STATE,
    Section.SESSION_TITLE,
)
"""Sections left out of a document that does not fit, the first to go first."""


def reserve(overview_tokens: int, budget: int) -> int:
    """Return the tokens that messages leave to an overview of this size."""
    return min(overview_tokens, budget // RESERVE_SHARE, RESERVE_TOKENS)


def room_beside_any_overview(budget: int) -> int:
    """Return the tokens that messages have whatever the size of the overview."""
    return budget - min(budget // RESERVE_SHARE, RESERVE_TOKENS)


def shorten_document(bodies: Bodies, budget: int, count_tokens: TokenCounter) -> tuple[str, tuple[Section, ...]]:
    """Return the document without the sections that do not fit, and which they are; '' when not even one fits."""
    left: dict[Section, str] = {section: bodies.get(section, "") for section in SECTIONS}
    omitted: list[Section] = []
    for section in SHORTENING_ORDER:
        text = render_sections(left)
        if count_tokens(text) <= budget:
            return text, tuple(omitted)
        del left[section]
        omitted.append(section)
    return "", tuple(omitted)


def render_sections(bodies: Mapping[Section, str]) -> str:
    """Return a document of only the sections given, in their order; '' for none."""
    blocks = [f"## {section}\n{confined_body(bodies[section])}".rstrip() for section in SECTIONS if section in bodies]
    return "\n\n".join([DOCUMENT_TITLE, *blocks]) + "\n" if blocks else ""
