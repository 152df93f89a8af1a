"""The conversation as sentences: each with who said it, when, and what kind it is."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from app.domain.prompts import SpokenMessage
from app.providers.extractive.cues import LEADING_INTERJECTION, SMALL_TALK
from app.providers.extractive.language import CJK, Wording

# The line that opens a tool call in the text of a message; what follows it is input and output.
TOOL_LINE: Final = re.compile(r"^\[tool ([^:\]\n]{1,80}): ([^\]\n]{1,40})\]$", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*+•·]|\d{1,3}[.)、])\s+|^#{1,6}\s+|^>\s*")
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+\s+|[。！？!?；;…]+[」』”’）)]*")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|mr|mrs|ms|dr|prof|st|vs|etc|no|approx|fig|[a-z])\.\s+$", re.IGNORECASE
)
_CODE_LINE: Final = re.compile(
    r"[{};]\s*$|^\s*(?:[\[{<|$]|at [\w.$]+\(|File \"|from \w+ import|import \w+)|[=<>|+\-_*#~]{6,}"
)
_QUESTION: Final = re.compile(r"[?？][\"'”’」』)）]*\s*$|[吗呢么][。！]?$|(?:です|ます|でしょう|の)か[。]?$")
_PLAIN_WORD: Final = re.compile(r"[a-z]+(?:['’][a-z]+)?(?=[\s,.!?]|$)")
_LONGEST: Final = 600


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of one message.

    who is the name shown to people, by_user tells the one who gives the orders; day is YYYY-MM-DD or ''.
    position counts the sentences of the whole conversation; answers tells that somebody else had just asked something.
    """

    text: str
    who: str
    by_user: bool
    named: bool
    day: str
    seq: int
    position: int
    answers: bool = False

    @property
    def is_question(self) -> bool:
        return _QUESTION.search(self.text) is not None

    @property
    def is_small_talk(self) -> bool:
        return SMALL_TALK.match(self.text) is not None and length(self.text) < 25

    @property
    def heading(self) -> str:
        """Return what stands before the words in a bullet: day and speaker."""
        return f"{self.day} {self.who}{self.colon}".lstrip()

    @property
    def colon(self) -> str:
        return "：" if CJK.search(self.text) else ": "


def day_of(said_at: str) -> str:
    """Return the day of a message as YYYY-MM-DD, '' when it does not say."""
    found = _DAY.search(said_at)
    return found.group() if found else ""


def speaker_of(message: SpokenMessage, wording: Wording) -> str:
    """Return the name under which a message's author is shown."""
    if message.speaker:
        return message.speaker
    return {"user": wording.user, "assistant": wording.assistant}.get(message.role, message.role or wording.user)


def read_sentences(messages: Sequence[SpokenMessage], wording: Wording) -> list[Sentence]:
    """Return what was said, in order; code, tool output and bare lists of symbols are left out."""
    sentences: list[Sentence] = []
    for message in messages:
        asked = bool(sentences) and any(s.is_question for s in _last_message(sentences) if s.seq != message.seq)
        if message.role in {"tool", "system"}:
            continue
        for text in _prose(message.text):
            sentences.append(
                Sentence(
                    text=text,
                    who=speaker_of(message, wording),
                    by_user=message.role == "user",
                    named=bool(message.speaker),
                    day=day_of(message.said_at),
                    seq=message.seq,
                    position=len(sentences),
                    answers=asked,
                )
            )
    return sentences


def _last_message(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    return takewhile(lambda sentence: sentence.seq == sentences[-1].seq, reversed(sentences))


def length(text: str) -> int:
    """Return how much a text says, in words; two characters of Chinese or Japanese count as one."""
    cjk = len(CJK.findall(text))
    return (cjk + 1) // 2 + len(re.findall(r"[A-Za-z0-9À-ɏЀ-ӿ']+", text))


def normalised(text: str) -> str:
    """Return the text for comparing: folded, without markup and punctuation at either end, single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[*_`~\"“”]", "", folded).split()).strip(" .,;:!?。，；：！？、…-")


def shortened(text: str, words: int) -> str:
    """Return the text cut to about so many words, at a word or clause, with an ellipsis where something is missing."""
    if length(text) <= words:
        return text
    kept: list[str] = []
    half_words = 0
    for piece in re.findall(r"\S+\s*" if not CJK.search(text) else r"[A-Za-z0-9_./:-]+\s*|.\s*", text):
        half_words += 1 if CJK.match(piece) else 2
        kept.append(piece)
        if half_words >= 2 * words:
            break
    return "".join(kept).rstrip(" ,;:，；：、") + "…"


def _prose(text: str) -> Iterator[str]:
    tool = TOOL_LINE.search(text)
    for line in _lines_outside_fences(text[: tool.start()] if tool else text):
        stripped = _LIST_MARK.sub("", line).strip()
        if not stripped or _CODE_LINE.search(line) or _is_noise(stripped):
            continue
        yield from _split(stripped)


def _lines_outside_fences(text: str) -> Iterator[str]:
    fence: str | None = None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark:
            fence = None if fence == mark.group(1) else (fence or mark.group(1))
        elif fence is None:
            yield line


def _is_noise(line: str) -> bool:
    """Tell lines that are data rather than words: few letters, or one endless word."""
    signs = "".join(line[:_LONGEST].split())
    letters = sum(character.isalpha() for character in signs)
    return letters * 4 < len(signs) or (len(line) > 120 and " " not in line and not CJK.search(line))


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        if _ABBREVIATION.search(line[max(start, end.end() - 10) : end.end()]):
            continue
        yield from _cleaned(line[start : end.end()])
        start = end.end()
    yield from _cleaned(line[start:])


def _cleaned(piece: str) -> Iterator[str]:
    text = LEADING_INTERJECTION.sub("", piece.strip(), count=1) if LEADING_INTERJECTION.match(piece.strip()) else piece
    text = " ".join(text.split())[:_LONGEST].strip()
    if length(text) >= 1 and any(character.isalpha() for character in text):
        yield text[0].upper() + text[1:] if _PLAIN_WORD.match(text) else text
