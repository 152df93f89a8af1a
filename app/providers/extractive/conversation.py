"""One archive's messages, read once for all seven sections."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.prompts import SpokenMessage
from app.domain.tokens import TokenCounter
from app.providers.extractive.language import WORDINGS, Wording, language_of
from app.providers.extractive.sentences import Sentence, day_of, read_sentences, speaker_of


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, by whom, and until which day; wording is in the language most of it is in."""

    messages: tuple[SpokenMessage, ...]
    sentences: tuple[Sentence, ...]
    people: tuple[str, ...]
    wording: Wording
    day: str
    count: TokenCounter


def read_conversation(messages: Sequence[SpokenMessage], count: TokenCounter) -> Conversation:
    """Return the messages as sentences, with the people who spoke and the day of the newest message."""
    english = WORDINGS[language_of(())]
    wording = WORDINGS[language_of(sentence.text for sentence in read_sentences(messages, english))]
    spoken = [message for message in messages if message.role in {"user", "assistant"} or message.speaker]
    days = [day for day in (day_of(message.said_at) for message in messages) if day]
    return Conversation(
        messages=tuple(messages),
        sentences=tuple(read_sentences(messages, wording)),
        people=tuple(dict.fromkeys(speaker_of(message, wording) for message in spoken)),
        wording=wording,
        day=max(days) if days else wording.no_day,
        count=count,
    )
