"""Task and goals: the first request in full, and what people said they want."""

import re
from collections.abc import Sequence
from typing import Final

from app.domain.working_memory.operations import KEEP, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import CORRECTION, GOAL, IMPERATIVE, REQUEST, SMALL_TALK, TIME, VAGUE_START
from app.providers.extractive.dates import with_dates
from app.providers.extractive.facts import line_of
from app.providers.extractive.items import added, bulleted, has_room, items_of
from app.providers.extractive.ranking import best
from app.providers.extractive.sentences import Sentence, length, shortened
from app.providers.extractive.title import first_request

_AT_FIRST: Final = 5
_LATER: Final = 3
_NEWEST_KEPT: Final = 15
_REQUEST_WORDS: Final = 80
# What somebody else will or should do, and politeness in the form of a wish.
_OTHERS: Final = re.compile(
    r"^(?:you|your|if you)(?:'re|'ll|'d| )|^(?:i'd|i would) love to (?:see|hear|check|know)|let (?:you|me) know|"
    r"let's (?:keep|do it|have|make sure)|if (?:i|we|you) need|reach out|must be|i can imagine",
    re.IGNORECASE,
)


def task_and_goals(conversation: Conversation, old: str, taken: Sequence[str]) -> SectionOp:
    """Return the goals to add. When the section is full, the first one and the newest ones stay."""
    known = items_of(old)
    opening = [] if known else _opening(conversation)
    chosen = best(conversation.sentences, _score, _LATER if known else _AT_FIRST, [*known, *opening, *taken])
    fresh = opening + [line_of(sentence) for sentence in chosen]
    if not fresh:
        return KEEP
    if has_room(old, fresh, conversation.count):
        return added(old, fresh)
    return Update(bulleted([*known[:1], *[*known[1:], *fresh][-_NEWEST_KEPT:]]))


def _opening(conversation: Conversation) -> list[str]:
    request = first_request(conversation)
    if request is None:
        return []
    text = with_dates(shortened(request.text, _REQUEST_WORDS), request.day)
    return [conversation.wording.first_request.format(text=text)]


def _score(sentence: Sentence) -> float:
    text = sentence.text
    asks = bool(REQUEST.search(text) or IMPERATIVE.match(text)) and sentence.by_user and not sentence.named
    if length(text) < 4 or (sentence.is_question and not asks) or _OTHERS.search(text) or CORRECTION.search(text):
        return 0.0
    score = 3.0 * bool(GOAL.search(text)) + 3.0 * asks + 0.5 * bool(TIME.search(text))
    score -= 2.5 * bool(SMALL_TALK.match(text)) + 1.0 * bool(VAGUE_START.match(text))
    return score if sentence.by_user or sentence.named else score * 0.5
