"""Key facts: the best few of each archive; when the section is full, bullets are joined and the weakest facts go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.working_memory.operations import KEEP, Append, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.dates import with_dates
from app.providers.extractive.items import MOST_BULLETS, MOST_TOKENS, bulleted, has_room, items_of
from app.providers.extractive.ranking import best, fact_score
from app.providers.extractive.sentences import Sentence, shortened
from app.providers.extractive.title import first_request

_AT_FIRST: Final = 10
_LATER: Final = 5
_WORDS: Final = 32
_SEPARATOR: Final = " / "
_HEADED: Final = re.compile(r"^(?:(?P<day>\d{4}-\d{2}-\d{2}) )?(?P<who>[^:：/]{1,40})[:：]\s?(?P<text>.+)$")
_DATED: Final = re.compile(r"^(?P<day>\d{4}-\d{2}-\d{2}) (?P<text>.+)$")
_LARGEST_LOSS: Final = 0.15


@dataclass(frozen=True, slots=True)
class _Fact:
    day: str
    who: str
    text: str
    order: int


def key_facts(conversation: Conversation, old: str) -> SectionOp:
    """Return what to do with the section: nothing, add the best new facts, or make room for them as well."""
    known = items_of(old)
    request = first_request(conversation)
    elsewhere = [request.text] if request else []
    chosen = best(conversation.sentences, fact_score, _LATER if known else _AT_FIRST, [*known, *elsewhere])
    fresh = [line_of(sentence) for sentence in chosen]
    if not fresh:
        return KEEP
    if not known:
        return Update(bulleted(fresh))
    if has_room(old, fresh, conversation.count):
        return Append(tuple(fresh))
    return Update(_consolidated([*known, *fresh], len(fresh), conversation))


def line_of(sentence: Sentence) -> str:
    """Return a sentence as one bullet: day, speaker, words, with pointed-at days written out."""
    return sentence.heading + with_dates(shortened(sentence.text, _WORDS), sentence.day)


def _consolidated(lines: Sequence[str], fresh: int, conversation: Conversation) -> str:
    """Return the facts in fewer bullets. Only when joining is not enough do the weakest old facts go, few at a time."""
    facts = [fact for line in lines for fact in _facts_of(line)]
    facts = [_Fact(fact.day, fact.who, fact.text, order) for order, fact in enumerate(facts)]
    spare = int(len(facts) * _LARGEST_LOSS)
    weakest = sorted(facts[: len(facts) - fresh], key=lambda fact: (_strength(fact), fact.order))[:spare]
    while weakest and conversation.count(bulleted(_joined(facts))) > MOST_TOKENS:
        facts.remove(weakest.pop(0))
    return bulleted(_joined(facts))


def _facts_of(line: str) -> list[_Fact]:
    headed = _HEADED.match(line)
    if headed is None:
        return [_Fact("", "", line, 0)]
    facts: list[_Fact] = []
    day = headed["day"] or ""
    for part in headed["text"].split(_SEPARATOR):
        dated = _DATED.match(part)
        if dated:
            day, part = dated["day"], dated["text"]
        facts.append(_Fact(day, headed["who"], part, 0))
    return facts


def _strength(fact: _Fact) -> float:
    return fact_score(Sentence(fact.text, fact.who, by_user=True, named=True, day=fact.day, seq=0, position=0))


def _joined(facts: Sequence[_Fact]) -> list[str]:
    """Return one bullet per person and day, and one per person for the oldest days where that is still too many."""
    groups: dict[tuple[str, str], list[_Fact]] = {}
    for fact in facts:
        key = (fact.day, fact.who) if fact.who else ("", fact.text)
        groups.setdefault(key, []).append(fact)
    bullets = list(groups.values())
    while len(bullets) > MOST_BULLETS - 2:
        pair = _oldest_pair(bullets)
        if pair is None:
            break
        first, second = pair
        bullets[first] = bullets[first] + bullets.pop(second)
    return [_bullet(group) for group in bullets]


def _oldest_pair(bullets: Sequence[Sequence[_Fact]]) -> tuple[int, int] | None:
    seen: dict[str, int] = {}
    for index, group in enumerate(bullets):
        who = group[0].who
        if who and who in seen and len(bullets[seen[who]]) + len(group) <= 6:
            return seen[who], index
        seen[who] = index
    return None


def _bullet(group: Sequence[_Fact]) -> str:
    first = group[0]
    if not first.who:
        return first.text
    days = {fact.day for fact in group}
    head = f"{first.day} {first.who}: ".lstrip() if len(days) == 1 else f"{first.who}: "
    parts: list[str] = []
    day = first.day if len(days) == 1 else ""
    for fact in group:
        parts.append(fact.text if fact.day == day else f"{fact.day} {fact.text}")
        day = fact.day
    return head + _SEPARATOR.join(parts)
