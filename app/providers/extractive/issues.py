"""Open issues: questions nobody answered and things left to do; and those that later words settle."""

from collections.abc import Sequence
from typing import Final

from app.domain.working_memory.operations import KEEP, SectionOp, Update
from app.domain.working_memory.resolution import is_settled
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import RESOLUTION, SMALL_TALK, TODO, UNKNOWN
from app.providers.extractive.dates import with_dates
from app.providers.extractive.facts import line_of
from app.providers.extractive.items import HEADED, added, bulleted, items_of
from app.providers.extractive.language import CJK
from app.providers.extractive.ranking import best, features, overlap
from app.providers.extractive.sentences import Sentence, length, shortened

_AT_FIRST: Final = 6
_LATER: Final = 4
_MOST_ASKED: Final = 3
_MOST_OPEN: Final = 20
_SETTLED_KEPT: Final = 5
_SHARED: Final = 0.4
_SHARED_PAIRS: Final = 0.25


def open_issues(conversation: Conversation, old: str, taken: Sequence[str]) -> SectionOp:
    """Return the issues to add, and marks on those that the new messages settle.

    Of the settled ones the newest few stay, so that one can see how they ended.
    """
    known = items_of(old)
    settled = {item: words for item in known if (words := _settling_words(item, conversation))}
    still_open = [item for item in known if not is_settled(item) and item not in settled]
    room = max(1, min(_LATER if known else _AT_FIRST, _MOST_OPEN - len(still_open)))
    asked = [_question_line(s, conversation) for s in _unanswered(conversation.sentences)]
    chosen = best(conversation.sentences, _score, room, [*known, *asked, *taken])
    fresh = [line for line in [line_of(s) for s in chosen] + asked if line not in known][:room]
    if not settled:
        return added(old, fresh) if fresh else KEEP
    ended = [item for item in known if is_settled(item)]
    ended += [f"[resolved] {item} → {words}" for item, words in settled.items()]
    return Update(bulleted([*ended[-_SETTLED_KEPT:], *still_open, *fresh]))


def _score(sentence: Sentence) -> float:
    text = sentence.text
    if length(text) < 4 or sentence.is_question or SMALL_TALK.match(text) or not TODO.search(text):
        return 0.0
    return 3.0 + min(1.0, length(text) / 40)


def _unanswered(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the last telling questions of the newest message, and those that were answered with "I don't know"."""
    questions: list[Sentence] = []
    reply: Sentence | None = None
    after: Sentence | None = None
    for sentence in reversed(sentences):
        if after is not None and after.who != sentence.who:
            reply = after
        after = sentence
        telling = sentence.is_question and not sentence.is_small_talk and length(sentence.text) >= 4
        if telling and (reply is None or (UNKNOWN.search(reply.text) and not reply.is_question)):
            questions.append(sentence)
    return questions[:_MOST_ASKED][::-1]


def _question_line(sentence: Sentence, conversation: Conversation) -> str:
    text = with_dates(shortened(sentence.text, 32), sentence.day)
    asked = conversation.wording.asked.format(who=sentence.who, text=text)
    return f"{sentence.day} {asked}".lstrip()


def _settling_words(item: str, conversation: Conversation) -> str:
    """Return what settled an issue: a sentence about it that says so, or the answer to a question left at the end."""
    if is_settled(item):
        return ""
    headed = HEADED.match(item)
    own = features(headed["text"] if headed else item)
    for sentence in conversation.sentences:
        says_so = RESOLUTION.search(sentence.text) and not sentence.is_question and not TODO.search(sentence.text)
        if says_so and _is_about(features(sentence.text), own):
            return line_of(sentence)
    return _answer(item, own, conversation) if item.endswith(("?", "？")) else ""


def _is_about(said: frozenset[str], issue: frozenset[str]) -> bool:
    """Tell whether two sentences share enough; of character pairs a smaller share means as much as of words."""
    shared = said & issue
    pairs = any(CJK.match(feature) for feature in shared)
    return len(shared) >= (3 if pairs else 2) and overlap(said, issue) >= (_SHARED_PAIRS if pairs else _SHARED)


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
