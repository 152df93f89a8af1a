"""What of a conversation fits a token budget, and what is given up first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from app.domain.context.overview import reserve, shorten_document
from app.domain.context.shortening import Shortening
from app.domain.context.turns import Group, ToolPair, order_of_taking
from app.domain.messages import StoredMessage
from app.domain.tokens import TokenCounter
from app.domain.working_memory.document import render_document
from app.domain.working_memory.sections import Bodies, Section

ORDER_OF_SACRIFICE: Final = (
    "overview_sections_beyond_reserve",
    "older_turns",
    "earlier_steps_of_the_newest_turn",
    "tool_outputs",
    "tool_inputs",
    "context_abstracts",
    "texts",
    "overview_reserve",
)
"""What a budget takes away, the first to go first; of each kind the oldest before the newest."""

LEAST_SHOWN_TOKENS: Final = 4
"""A question or step of which not even this much would be seen is left out."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The newest messages of a conversation, in order, and the tool pairs among them.

    There are `total` messages; those that are not here are older, and where some are missing, the ones after them take
    more tokens than the budget. The question of the turn that begins before them is here all the same, and so is every
    call whose result is.
    """

    messages: Sequence[StoredMessage]
    total: int
    pairs: Iterable[ToolPair] = ()


@dataclass(frozen=True, slots=True)
class ShortenedMessage:
    """A message of which only a part is shown, and how many tokens it has in full."""

    message_id: UUID
    tokens: int


@dataclass(frozen=True, slots=True)
class FittedContext:
    """What is shown: at most the budget, by the server's own count. The rest says what was given up."""

    overview: str
    overview_tokens: int
    messages: tuple[StoredMessage, ...]
    message_tokens: int
    dropped_messages: int = 0
    shortened_messages: tuple[ShortenedMessage, ...] = ()
    omitted_sections: tuple[Section, ...] = ()


def fit_context(
    bodies: Bodies | None,
    conversation: Conversation,
    *,
    budget: int,
    count_tokens: TokenCounter,
    placeholder: str = "",
) -> FittedContext:
    """Return the document and the newest messages, cut to the budget; a larger budget never shows less.

    Messages come first, but for a small reserve of the overview. They are whole or absent, but for the question and the
    last step of the newest turn, which are shown in part where they do not fit. A tool call and its result are shown
    together or not at all. placeholder is the overview where there is no document.
    """
    overview = render_document(bodies) if bodies else placeholder
    overview_tokens = count_tokens(overview)
    reserved = reserve(overview_tokens, budget)
    shown = _fit_messages(conversation, budget - reserved, count_tokens)
    message_tokens = sum(message.tokens for message in shown)
    shortened = _shortened(conversation.messages, shown)
    complete = len(shown) == conversation.total and not shortened
    allowance = budget - message_tokens if complete else reserved
    omitted: tuple[Section, ...] = ()
    if overview_tokens > allowance:
        overview, omitted = shorten_document(bodies, allowance, count_tokens) if bodies else ("", ())
        overview_tokens = count_tokens(overview)
    dropped = conversation.total - len(shown)
    return FittedContext(overview, overview_tokens, tuple(shown), message_tokens, dropped, shortened, omitted)


def _fit_messages(conversation: Conversation, room: int, count_tokens: TokenCounter) -> list[StoredMessage]:
    messages = conversation.messages
    if room <= 0 or not messages:
        return []
    if len(messages) == conversation.total and _tokens(messages) <= room:
        return list(messages)
    sequence = order_of_taking(messages, conversation.pairs)
    question, step = next(sequence)
    left = room - _tokens(question) - _tokens(step)
    if left < 0:
        return _in_part(question, step, room, count_tokens)
    taken = [*question, *step]
    for question, step in sequence:
        left -= _tokens(question) + _tokens(step)
        if left < 0:
            break
        taken += [*question, *step]
    return sorted(taken, key=lambda message: message.seq)


def _in_part(question: Group, step: Group, room: int, count_tokens: TokenCounter) -> list[StoredMessage]:
    """Return question and last step of the newest turn within `room` tokens; nothing if that is only marks.

    The step is sure of half of the room, the question takes what is left, and the step what the question leaves.
    """
    asked, answered = Shortening(question, count_tokens), Shortening(step, count_tokens)
    if _worth_showing(asked, question) + _worth_showing(answered, step) > room:
        return []
    sure = max(min(_tokens(step), room // 2, room - asked.least_tokens), answered.least_tokens)
    for_question = max(min(_tokens(question), room - sure), asked.least_tokens)
    shown = [*asked.fill(for_question), *answered.fill(room - for_question)]
    return sorted(shown, key=lambda message: message.seq)


def _worth_showing(shortening: Shortening, messages: Group) -> int:
    """Return the tokens below which a group would be hardly more than marks."""
    least = shortening.least_tokens
    return max(least, min(_tokens(messages), least + LEAST_SHOWN_TOKENS))


def _shortened(messages: Sequence[StoredMessage], shown: Sequence[StoredMessage]) -> tuple[ShortenedMessage, ...]:
    full = {message.seq: message for message in messages}
    return tuple(
        ShortenedMessage(message.message_id, full[message.seq].tokens)
        for message in shown
        if message.parts != full[message.seq].parts
    )


def _tokens(messages: Iterable[StoredMessage]) -> int:
    return sum(message.tokens for message in messages)
