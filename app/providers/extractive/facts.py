"""Key facts: the best few of each archive; when the section is full, bullets are joined and the weakest facts go."""

import re
from collections.abc import Sequence
from typing import Final

from app.domain.working_memory.operations import KEEP, Append, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import GOAL
from app.providers.extractive.dates import with_dates
from app.providers.extractive.items import HEADED, MOST_BULLETS, MOST_TOKENS, bulleted, has_room, items_of
from app.providers.extractive.ranking import best, fact_score
from app.providers.extractive.sentences import Sentence, shortened
from app.providers.extractive.title import first_request

_AT_FIRST: Final = 10
_LATER: Final = 5
_WORDS: Final = 32
_SEPARATOR: Final = " / "
_JOINT: Final = re.compile(r" / (?=\d{4}-\d{2}-\d{2} )")
_FREE_BULLETS: Final = 2
_MOST_JOINED: Final = 6
_LARGEST_LOSS: Final = 0.15


def key_facts(conversation: Conversation, old: str, taken: Sequence[str]) -> SectionOp:
    """Return what to do with the section: nothing, add the best new facts, or make room for them as well."""
    known = items_of(old)
    request = first_request(conversation)
    written = [fact for item in known for fact in _JOINT.split(item)] + ([request.text] if request else [])
    written += taken
    chosen = best(conversation.sentences, _score, _LATER if known else _AT_FIRST, written)
    fresh = [line_of(sentence) for sentence in chosen]
    if not fresh:
        return KEEP
    if not known:
        return Update(bulleted(fresh))
    if has_room(old, fresh, conversation.count):
        return Append(tuple(fresh))
    return Update(_consolidated(known, fresh, conversation))


def _score(sentence: Sentence) -> float:
    """Return the score of a sentence as a fact; a wish has to say more to be one."""
    return fact_score(sentence) - (1.0 if GOAL.search(sentence.text) else 0.0)


def line_of(sentence: Sentence) -> str:
    """Return a sentence as one bullet: day, speaker, words, with pointed-at days written out."""
    return sentence.heading + with_dates(shortened(sentence.text, _WORDS), sentence.day)


def _consolidated(known: Sequence[str], fresh: Sequence[str], conversation: Conversation) -> str:
    """Return old and new bullets in less room: the weakest old ones go, few at a time, and the rest is joined.

    What stays is taken over word for word, so that whoever guards the section finds it again and takes note of what
    went.
    """
    kept = list(known)
    for bullet in sorted(known, key=_strength)[: max(1, int(len(known) * _LARGEST_LOSS))]:
        if conversation.count(bulleted([*kept, *fresh])) <= MOST_TOKENS:
            break
        kept.remove(bullet)
    added = list(fresh)
    for bullet in sorted(fresh, key=_strength)[:-1]:
        if conversation.count(bulleted([*kept, *added])) <= MOST_TOKENS:
            break
        added.remove(bullet)
    return bulleted(_joined([*kept, *added]))


def _strength(bullet: str) -> float:
    """Return how much the facts of a bullet are worth on average."""
    facts = _JOINT.split(bullet)
    headed = [HEADED.match(fact) for fact in facts]
    texts = [match["text"] if match else fact for match, fact in zip(headed, facts, strict=True)]
    scores = [fact_score(Sentence(text, "", by_user=True, named=True, day="", seq=0, position=0)) for text in texts]
    return sum(scores) / len(scores)


def _joined(bullets: Sequence[str]) -> list[str]:
    """Return at most so many bullets: neighbours of one person and day first, then the oldest ones of one person."""
    joined = list(bullets)
    for by_day in (True, False):
        while len(joined) > MOST_BULLETS - _FREE_BULLETS and (pair := _oldest_pair(joined, by_day=by_day)):
            first, second = pair
            joined[first] += _SEPARATOR + joined.pop(second)
    return joined


def _oldest_pair(bullets: Sequence[str], *, by_day: bool) -> tuple[int, int] | None:
    """Return the places of the first two bullets of one person that together are not too long."""
    seen: dict[str, int] = {}
    for index, bullet in enumerate(bullets):
        headed = HEADED.match(bullet)
        if headed is None:
            continue
        owner = f"{headed['day']} {headed['who']}" if by_day else headed["who"]
        earlier = seen.get(owner)
        if earlier is not None and bullets[earlier].count(_SEPARATOR) + bullet.count(_SEPARATOR) + 2 <= _MOST_JOINED:
            return earlier, index
        seen[owner] = index
    return None
