"""What of a conversation fits a token budget, and what is given up first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.messages import StoredMessage, tool_uses
from app.domain.tokens import TokenCounter
from app.domain.working_memory.document import DOCUMENT_TITLE, confined_body, render_document
from app.domain.working_memory.sections import SECTIONS, Bodies, Section

OVERVIEW_RESERVE_TOKENS: Final = 2_000
OVERVIEW_RESERVE_SHARE: Final = 4
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


@dataclass(frozen=True, slots=True)
class Watermark:
    """Up to where memory is current: messages after covered_through_seq are in no document yet."""

    covered_through_seq: int
    last_seq: int
    pending_archives: int


@dataclass(frozen=True, slots=True)
class FittedContext:
    """What is shown: at most the budget, by the server's own count.

    omitted_sections and dropped_messages say what was given up, oldest messages first.
    """

    overview: str
    overview_tokens: int
    messages: tuple[StoredMessage, ...]
    message_tokens: int
    dropped_messages: int
    omitted_sections: tuple[Section, ...]


def fit_context(
    bodies: Bodies | None,
    messages: Sequence[StoredMessage],
    *,
    budget: int,
    count_tokens: TokenCounter,
    placeholder: str = "",
) -> FittedContext:
    """Return the newest messages and the document, cut to the budget; a larger budget never shows less.

    Messages come first, but for a small reserve of the overview; they are whole or absent, and a tool call and its
    result are shown together or not at all. placeholder is the overview where there is no document.
    """
    overview = render_document(bodies) if bodies else placeholder
    overview_tokens = count_tokens(overview)
    reserve = min(overview_tokens, budget // OVERVIEW_RESERVE_SHARE, OVERVIEW_RESERVE_TOKENS)
    shown = _newest_that_fit(messages, budget - reserve)
    message_tokens = sum(message.tokens for message in shown)
    allowance = budget - message_tokens if len(shown) == len(messages) else reserve
    omitted: tuple[Section, ...] = ()
    if overview_tokens > allowance:
        overview, omitted = shorten_document(bodies, allowance, count_tokens) if bodies else ("", ())
        overview_tokens = count_tokens(overview)
    return FittedContext(overview, overview_tokens, tuple(shown), message_tokens, len(messages) - len(shown), omitted)


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


def _newest_that_fit(messages: Sequence[StoredMessage], budget: int) -> list[StoredMessage]:
    """Return the longest tail within the budget that begins with no result whose call was left out."""
    room, start = budget, len(messages)
    while start > 0 and messages[start - 1].tokens <= room:
        start -= 1
        room -= messages[start].tokens
    return list(messages[_first_whole(messages, start) :])


def _first_whole(messages: Sequence[StoredMessage], start: int) -> int:
    """Return the earliest position at or after start behind which no result stands without its call."""
    pairs = _tool_pairs(messages)
    while torn := [result for call, result in pairs if call < start <= result]:
        start = max(torn) + 1
    return start


def _tool_pairs(messages: Sequence[StoredMessage]) -> list[tuple[int, int]]:
    """Return where each call and its result stand; a result answers the oldest call of its id that waits."""
    waiting: dict[str, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    for use in tool_uses(messages):
        calls = waiting.setdefault(use.tool_id, [])
        if not use.is_result:
            calls.append(use.position)
        elif calls:
            pairs.append((calls.pop(0), use.position))
    return pairs
