"""Fitting a conversation into a model's window: cut at message boundaries, long messages shown in part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.prompts import SpokenMessage
from app.domain.tokens import TokenCounter

LARGEST_MESSAGE_SHARE: Final = 4
"""A message may take a quarter of the room of its piece; what is longer is shown by its beginning and its end."""

HEAD_SHARE: Final = 0.75
OMISSION: Final = "\n[… {} characters are not shown here …]\n"
LINE_TOKENS: Final = 24
"""What number, time and speaker of a message cost around its text, at most."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The next messages that fit; shortened are the seqs of those shown in part."""

    messages: tuple[SpokenMessage, ...]
    shortened: tuple[int, ...]

    @property
    def first_seq(self) -> int:
        return self.messages[0].seq

    @property
    def last_seq(self) -> int:
        return self.messages[-1].seq


def next_piece(messages: Sequence[SpokenMessage], *, room: int, count_tokens: TokenCounter) -> Piece:
    """Return the longest beginning of the messages that takes at most `room` tokens, and never less than one message.

    room: tokens for the conversation in the prompt. Total: with no room at all a message is shown as an omission.
    """
    largest = max(room // LARGEST_MESSAGE_SHARE, 0)
    taken: list[SpokenMessage] = []
    shortened: list[int] = []
    left = room
    for message in messages:
        shown = message
        if count_tokens(message.text) > largest:
            shown = replace(message, text=shorten(message.text, largest, count_tokens))
        cost = count_tokens(shown.text) + LINE_TOKENS
        if taken and cost > left:
            break
        left -= cost
        taken.append(shown)
        if shown is not message:
            shortened.append(message.seq)
    return Piece(tuple(taken), tuple(shortened))


def shorten(text: str, budget: int, count_tokens: TokenCounter) -> str:
    """Return the text, or its beginning and end around a note of what is missing, within `budget` tokens.

    Three quarters of the room go to the beginning. Where not even the note fits, the note is all there is.
    """
    if count_tokens(text) <= budget:
        return text
    note = OMISSION.format(len(text))
    room = budget - count_tokens(note)
    if room <= 0:
        return note.strip()
    head = _longest(text, int(room * HEAD_SHARE), count_tokens)
    tail = _longest_end(text[len(head) :], room - count_tokens(head), count_tokens)
    missing = len(text) - len(head) - len(tail)
    return head.rstrip() + OMISSION.format(missing) + tail.lstrip()


def _longest(text: str, budget: int, count_tokens: TokenCounter) -> str:
    """Return the longest beginning within the budget, to a character or so: counts grow with length."""
    low, high = 0, min(len(text), budget * 16)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]


def _longest_end(text: str, budget: int, count_tokens: TokenCounter) -> str:
    low, high = 0, min(len(text), max(budget, 0) * 16)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[-middle:]) <= budget else (low, middle - 1)
    return text[-low:] if low else ""
