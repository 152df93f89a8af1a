"""Files and context: paths, links and tickets with what was said of them, pictures, and who takes part."""

import re
from typing import Final

from app.domain.working_memory.operations import SectionOp
from app.domain.working_memory.references import comparable, comparable_references, find_references
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.items import MOST_TOKENS, added, items_of
from app.providers.extractive.sentences import shortened, speaker_of

_PICTURE: Final = re.compile(r"\[(?:image|picture|photo|shares?|图片|画像)[:：]?\s+([^\]\n]{3,200})\]", re.IGNORECASE)
_AT_FIRST: Final = 20
_LATER: Final = 12
_PICTURES: Final = 2
_MOST_PICTURES: Final = 12
_WORDS: Final = 24


def files_and_context(conversation: Conversation, old: str) -> SectionOp:
    """Return lines for what the section does not name yet. Once it is long, new files come without a description."""
    short = conversation.count(old) > MOST_TOKENS
    fresh = [*_people(conversation, old), *_references(conversation, old, short=short), *_pictures(conversation, old)]
    fresh = fresh[: _LATER if items_of(old) else _AT_FIRST]
    return added(old, fresh)


def _people(conversation: Conversation, old: str) -> list[str]:
    wording = conversation.wording
    strangers = [
        name for name in conversation.people if name not in old and name not in {wording.user, wording.assistant}
    ]
    return [wording.people.format(people=wording.comma.join(strangers))] if strangers else []


def _references(conversation: Conversation, old: str, *, short: bool) -> list[str]:
    written = comparable_references(old)
    told: dict[str, tuple[str, str]] = {}
    for sentence in conversation.sentences:
        words = f": {sentence.who}{sentence.colon}{shortened(sentence.text, _WORDS)}"
        for reference in find_references(sentence.text):
            told.setdefault(comparable(reference), (reference, words))
    for message in conversation.messages:
        for reference in find_references(message.text):
            told.setdefault(comparable(reference), (reference, ""))
    fresh = [told[key] for key in told if key not in written]
    return [f"`{reference}`" + ("" if short else words) for reference, words in fresh]


def _pictures(conversation: Conversation, old: str) -> list[str]:
    lines: list[str] = []
    label = conversation.wording.picture.partition("{who}")[2].partition("{text}")[0]
    if old.count(label) >= _MOST_PICTURES:
        return []
    for message in conversation.messages:
        for caption in _PICTURE.findall(message.text):
            who = speaker_of(message, conversation.wording)
            line = conversation.wording.picture.format(who=who, text=caption.strip())
            if line not in old and line not in lines:
                lines.append(line)
    return lines[:_PICTURES]
