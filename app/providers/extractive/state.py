"""Current state: where the last archive ended, and what its people said they would do next."""

from collections.abc import Sequence
from typing import Final

from app.domain.working_memory.operations import SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import NEXT
from app.providers.extractive.dates import with_dates
from app.providers.extractive.facts import line_of
from app.providers.extractive.items import bulleted
from app.providers.extractive.ranking import best, fact_score, topics
from app.providers.extractive.sentences import Sentence, length, shortened
from app.providers.extractive.title import first_request

_NEXT_STEPS: Final = 3
_NEWS: Final = 2
_WORDS: Final = 40


def current_state(conversation: Conversation, old: str) -> SectionOp:
    """Return the new state. It is always rewritten: what held before the newest messages is history."""
    wording = conversation.wording
    telling = [s for s in conversation.sentences if length(s.text) >= 4 and not s.is_small_talk]
    last = _last_words(telling)
    about = wording.comma.join(topics(conversation.sentences, conversation.people, 3))
    if not about:
        about = shortened(last[-1].text, 20).rstrip(".。") if last else wording.empty
    opening = wording.state.format(day=conversation.day, count=len(conversation.messages), topics=about)
    said = [wording.last_words.format(who=s.who, text=_told(s)) for s in last]
    request = first_request(conversation)
    news = best((s for s in telling if s not in last), fact_score, _NEWS, [request.text] if request else [])
    steps = [
        wording.next_step.format(who=s.who, text=_told(s)) for s in _next_steps(telling) if s not in [*last, *news]
    ]
    return Update("\n".join(part for part in (opening, bulleted([*[line_of(s) for s in news], *said, *steps])) if part))


def _told(sentence: Sentence) -> str:
    return with_dates(shortened(sentence.text, _WORDS), sentence.day)


def _last_words(telling: Sequence[Sentence]) -> list[Sentence]:
    """Return the last telling sentence of each of the last two speakers, in the order they were said."""
    found: dict[str, Sentence] = {}
    for sentence in reversed(telling):
        found.setdefault(sentence.who, sentence)
        if len(found) == 2:
            break
    return sorted(found.values(), key=lambda sentence: sentence.position)


def _next_steps(telling: Sequence[Sentence]) -> list[Sentence]:
    late = telling[len(telling) // 2 :]
    announced = [s for s in late if NEXT.search(s.text) and not s.is_question]
    return announced[-_NEXT_STEPS:]
