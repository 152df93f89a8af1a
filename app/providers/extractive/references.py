"""Files and context: paths, links and tickets with what was said of them, pictures, and who takes part."""

import re
from collections.abc import Iterator
from typing import Final

from app.domain.working_memory.operations import KEEP, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.items import MOST_TOKENS, added, bulleted, items_of
from app.providers.extractive.sentences import shortened, speaker_of

_EXTENSIONS: Final = (
    "py|pyi|ts|tsx|js|jsx|mjs|md|rst|txt|yaml|yml|json|jsonl|toml|ini|cfg|conf|env|sh|ps1|cmd|bat|rs|go|java|kt|c|h|cc|cpp|hpp|cs|"
    "rb|php|swift|scala|sql|html|css|scss|vue|svelte|csv|tsv|xlsx|xls|docx|doc|pptx|pdf|ipynb|lock|log|xml|proto|tf|gradle|"
    "png|jpg|jpeg|svg|gif|zip|gz|tar|parquet"
)
_REFERENCE: Final = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]，。；、）」]+)"
    r"|(?P<path>(?:[A-Za-z]:\\|~/|\.{1,2}/|"
    r"/)?(?:[A-Za-z0-9_.@-]{1,80}[/\\]){1,12}[A-Za-z0-9_.@-]{0,80}\.[A-Za-z0-9]{1,8}(?![A-Za-z0-9]))"
    r"|(?P<rooted>(?<![\w/])(?:~/|\.{1,2}/|/)(?:[A-Za-z0-9_.@-]{2,80}/){1,12}[A-Za-z0-9_.@-]{0,80})"
    rf"|(?P<file>(?<![A-Za-z0-9_.-])[A-Za-z0-9_][A-Za-z0-9_.-]{{0,80}}\.(?:{_EXTENSIONS})(?![A-Za-z0-9]))"
    r"|(?P<known>(?<![A-Za-z0-9_])(?:Dockerfile|Makefile|README|LICENSE|Procfile|Jenkinsfile|"
    r"CHANGELOG)(?![A-Za-z0-9_]))"
    r"|(?P<ticket>(?<![A-Za-z0-9])[A-Z][A-Z0-9]{1,9}-\d{1,6}(?![A-Za-z0-9]))",
)
_NO_TICKET: Final = re.compile(r"(?:UTF|ISO|SHA|RFC|GPT|COVID|HTTP|UTC|GMT|X|PEP|RS|AES|MP|H|A)-\d+")
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
    if not fresh:
        return KEEP
    return added(old, fresh) if items_of(old) else Update(bulleted(fresh))


def references_in(text: str) -> Iterator[str]:
    """Return the paths, links and tickets in a text, in order, as they are written."""
    for found in _REFERENCE.finditer(text):
        reference = found.group().rstrip(".,;:!?")
        if not (found["ticket"] and _NO_TICKET.fullmatch(reference)) and not reference.replace(".", "").isdigit():
            yield reference


def _people(conversation: Conversation, old: str) -> list[str]:
    wording = conversation.wording
    strangers = [
        name for name in conversation.people if name not in old and name not in {wording.user, wording.assistant}
    ]
    return [wording.people.format(people=wording.comma.join(strangers))] if strangers else []


def _references(conversation: Conversation, old: str, *, short: bool) -> list[str]:
    written = set(references_in(old))
    told: dict[str, str] = {}
    for sentence in conversation.sentences:
        for reference in references_in(sentence.text):
            told.setdefault(reference, f"{sentence.who}{sentence.colon}{shortened(sentence.text, _WORDS)}")
    for message in conversation.messages:
        for reference in references_in(message.text):
            told.setdefault(reference, "")
    fresh = {reference: words for reference, words in told.items() if reference not in written}
    return [f"`{reference}`" + (f": {words}" if words and not short else "") for reference, words in fresh.items()]


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
