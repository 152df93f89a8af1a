"""Errors and corrections: what went wrong and what somebody put right."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.working_memory.operations import SectionOp
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import CORRECTION, FAILURE, QUOTED, REASON, RESOLUTION, SMALL_TALK
from app.providers.extractive.facts import line_of
from app.providers.extractive.items import MOST_TOKENS, items_of, logged
from app.providers.extractive.ranking import best
from app.providers.extractive.sentences import (
    TOOL_LINE,
    Sentence,
    day_of,
    length,
    normalised,
    shortened,
    speaker_of,
)

_AT_FIRST: Final = 6
_LATER: Final = 3
_RAISED: Final = re.compile(
    r"^[ \t]*((?:[A-Za-z_][\w.]*)?(?:Error|Exception|Panic|FATAL|fatal)\b: ?[^\n]{5,160})", re.MULTILINE
)
_OUTPUT: Final = re.compile(r"^output: ([^\n]{1,400})", re.MULTILINE)
_FAILED: Final = frozenset({"error", "failed", "failure", "timeout"})
_IDENTIFIER: Final = re.compile(r"[a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|\w+\.\w{2,4}\b|\b[45]\d\d\b|\w+(?:Error|Exception)")


def errors_and_corrections(conversation: Conversation, old: str, taken: Sequence[str]) -> SectionOp:
    """Return the entries to add. The section is a log that never shrinks, so few are taken, and one when it is long."""
    known = items_of(old)
    limit = (_LATER if known else _AT_FIRST) if conversation.count(old) < MOST_TOKENS else 1
    raised = _raised(conversation, known)
    chosen = best(conversation.sentences, _score, limit, [*known, *raised, *taken])
    fresh = [line_of(sentence) for sentence in chosen]
    return logged(old, [*fresh, *raised][:limit])


def _score(sentence: Sentence) -> float:
    text = sentence.text
    if length(text) < 3 or sentence.is_question or SMALL_TALK.match(text):
        return 0.0
    score = 3.5 * bool(CORRECTION.search(text)) + 2.0 * bool(FAILURE.search(text))
    score += 1.0 * bool(QUOTED.search(text) or _IDENTIFIER.search(text)) if score else 0.0
    return score + 1.0 * bool(score and (REASON.search(text) or RESOLUTION.search(text)))


def _raised(conversation: Conversation, known: Sequence[str]) -> list[str]:
    """Return the messages of exceptions that were pasted or printed, and of tools that failed, each once."""
    written = normalised("\n".join(known))
    found: dict[str, str] = {}
    for message in conversation.messages:
        for error in [*_RAISED.findall(message.text), *_failed_tools(message.text)]:
            text = " ".join(error.split()).replace("`", "")
            if normalised(text) not in written:
                who = speaker_of(message, conversation.wording)
                found.setdefault(normalised(text), f"{day_of(message.said_at)} {who}: `{text}`".lstrip())
    return list(found.values())


def _failed_tools(text: str) -> Iterator[str]:
    """Yield name and first line of output of the tools that ended in an error."""
    for tool in TOOL_LINE.finditer(text):
        if tool.group(2).casefold() in _FAILED:
            output = _OUTPUT.search(text, tool.end())
            yield f"{tool.group(1)}: {shortened(output.group(1), 24) if output else tool.group(2)}"
