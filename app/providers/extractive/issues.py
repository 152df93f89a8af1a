"""Open issues: questions nobody answered and things left to do; and those that later words settle."""

import re
from collections.abc import Sequence
from typing import Final

from app.domain.working_memory.operations import KEEP, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import RESOLUTION, SMALL_TALK, TODO, UNKNOWN
from app.providers.extractive.dates import with_dates
from app.providers.extractive.facts import line_of
from app.providers.extractive.items import added, bulleted, items_of
from app.providers.extractive.ranking import best, features, overlap
from app.providers.extractive.sentences import Sentence, length, shortened

_AT_FIRST: Final = 6
_LATER: Final = 4
_MOST_OPEN: Final = 20
_SETTLED: Final = re.compile(r"\[(?:resolved|done|closed|fixed)\]|✅|~~|已解决", re.IGNORECASE)
_SHARED: Final = 0.4


def open_issues(conversation: Conversation, old: str) -> SectionOp:
    """Return the issues to add, and marks on those that the new messages settle."""
    known = items_of(old)
    settled = {item: words for item in known if (words := _settling_words(item, conversation))}
    room = max(1, min(_LATER if known else _AT_FIRST, _MOST_OPEN - len(known)))
    asked = [_question_line(s, conversation) for s in _unanswered(conversation.sentences)]
    chosen = best(conversation.sentences, _score, room, [*known, *asked])
    fresh = [line for line in [line_of(s) for s in chosen] + asked if line not in known][:room]
    if not settled:
        return added(old, fresh) if fresh else KEEP
    marked = [f"[resolved] {item} → {settled[item]}" if item in settled else item for item in known]
    return Update(bulleted([*marked, *fresh]))


def _score(sentence: Sentence) -> float:
    text = sentence.text
    if length(text) < 4 or sentence.is_question or SMALL_TALK.match(text) or not TODO.search(text):
        return 0.0
    return 3.0 + min(1.0, length(text) / 40)


def _unanswered(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the last telling questions of the newest message, and those that were answered with "I don't know"."""
    questions: list[Sentence] = []
    for index, sentence in enumerate(sentences):
        if not sentence.is_question or sentence.is_small_talk or length(sentence.text) < 4:
            continue
        replies = [s for s in sentences[index + 1 :] if s.who != sentence.who][:2]
        if not replies or (UNKNOWN.search(replies[0].text) and not replies[0].is_question):
            questions.append(sentence)
    return questions[-3:]


def _question_line(sentence: Sentence, conversation: Conversation) -> str:
    text = with_dates(shortened(sentence.text, 32), sentence.day)
    asked = conversation.wording.asked.format(who=sentence.who, text=text)
    return f"{sentence.day} {asked}".lstrip()


def _settling_words(item: str, conversation: Conversation) -> str:
    """Return what settled an issue: a sentence about it that says so, or the answer to a question left at the end."""
    if _SETTLED.search(item):
        return ""
    own = features(item)
    for sentence in conversation.sentences:
        shared = features(sentence.text) & own
        says_so = RESOLUTION.search(sentence.text) and not sentence.is_question and not TODO.search(sentence.text)
        if says_so and len(shared) >= 2 and overlap(own, features(sentence.text)) >= _SHARED:
            return line_of(sentence)
    return _answer(item, own, conversation) if item.endswith(("?", "？")) else ""


def _answer(item: str, own: frozenset[str], conversation: Conversation) -> str:
    """Return the answer to a question that closed an earlier archive: what the first other speaker says about it."""
    opening = next(iter(conversation.sentences), None)
    if opening is None or opening.who in item:
        return ""
    for sentence in conversation.sentences:
        if sentence.seq != opening.seq:
            break
        if not sentence.is_question and not UNKNOWN.search(sentence.text) and features(sentence.text) & own:
            return line_of(sentence)
    return ""
