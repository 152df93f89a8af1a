"""Messages shown in part, and what of them is filled first.

With more tokens no part is ever shown shorter: what comes later in the order of filling gets nothing before what comes
earlier is whole.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.messages import Part, StoredMessage, countable_text
from app.domain.shortening import OMISSION, longest_text, most_chars, shortened_text, shortened_value
from app.domain.tokens import TokenCounter

MOST_CHARS_PER_TOKEN: Final = 16
"""What is longer than this is taken not to fit without being counted: counting a huge text takes long."""

_IMAGES: Final = frozenset({"image", "image_url"})


@dataclass(frozen=True, slots=True)
class _Slot:
    """One value of a part that can be shown in part; an empty field means the part itself."""

    message: int
    part: int
    field: str


class Shortening:
    """A few messages that are to be shown within an allowance of tokens."""

    def __init__(self, messages: Sequence[StoredMessage], count_tokens: TokenCounter) -> None:
        self._messages = messages
        self._count_tokens = count_tokens
        self._slots = tuple(_in_order_of_filling(messages))
        self._least = [[_least_of(part, count_tokens) for part in message.parts] for message in messages]
        self.least_tokens = sum(self._count(parts) for parts in self._least)

    def fill(self, allowance: int) -> list[StoredMessage]:
        """Return the messages with as much of them as fits, their tokens counted anew.

        allowance: at least least_tokens. Texts come first, then abstracts, tool inputs and tool outputs, the newest
        before the older ones.
        """
        whole = _most_whole(lambda n: self._fits(self._filled(n), allowance), len(self._slots))
        shown = self._filled(whole)
        if whole < len(self._slots):
            self._fill_in_part(shown, self._slots[whole], allowance)
        return [
            replace(message, parts=tuple(parts), tokens=self._count(parts))
            for message, parts in zip(self._messages, shown, strict=True)
        ]

    def _filled(self, whole: int) -> list[list[Part]]:
        """Return the parts with the first `whole` values as they are and marks for the others."""
        shown = [list(parts) for parts in self._least]
        for slot in self._slots[:whole]:
            shown[slot.message][slot.part] = self._with(shown, slot, None)
        return shown

    def _fill_in_part(self, shown: list[list[Part]], slot: _Slot, allowance: int) -> None:
        parts = shown[slot.message]
        others = sum(self._count(p) for position, p in enumerate(shown) if position != slot.message)
        least = parts[slot.part]

        def fits(chars: int) -> bool:
            parts[slot.part] = _with_value(least, self._original(slot), slot.field, chars)
            return self._fits([parts], allowance - others)

        chars = most_chars(fits, longest_text(self._original(slot)))
        parts[slot.part] = _with_value(least, self._original(slot), slot.field, chars) if chars else least

    def _with(self, shown: list[list[Part]], slot: _Slot, chars: int | None) -> Part:
        return _with_value(shown[slot.message][slot.part], self._original(slot), slot.field, chars)

    def _original(self, slot: _Slot) -> Part:
        return self._messages[slot.message].parts[slot.part]

    def _fits(self, shown: Sequence[Sequence[Part]], allowance: int) -> bool:
        texts = [countable_text(parts) for parts in shown]
        if sum(map(len, texts)) > MOST_CHARS_PER_TOKEN * (allowance + 1):
            return False
        return sum(map(self._count_tokens, texts)) <= allowance

    def _count(self, parts: Sequence[Part]) -> int:
        return self._count_tokens(countable_text(parts))


def _in_order_of_filling(messages: Sequence[StoredMessage]) -> Iterator[_Slot]:
    newest_first = [
        (position, number, part)
        for position in range(len(messages) - 1, -1, -1)
        for number, part in reversed(list(enumerate(messages[position].parts)))
    ]
    for wanted in ("text", "abstract", "tool_input", "", "tool_output"):
        for position, number, part in newest_first:
            if wanted in _fields_of(part) and (wanted == "" or part.get(wanted)):
                yield _Slot(position, number, wanted)


def _fields_of(part: Part) -> tuple[str, ...]:
    """Return which values of a part are counted and can be left out."""
    match part.get("type"):
        case "context":
            return ("abstract",)
        case "tool":
            return ("tool_input", "tool_output")
        case kind if kind == "text" or (kind not in _IMAGES and isinstance(part.get("text"), str)):
            return ("text",)
        case kind if kind in _IMAGES:
            return ()
        case _:
            return ("",)


def _least_of(part: Part, count_tokens: TokenCounter) -> Part:
    """Return a part with only marks where its values were; a value that is no longer than its mark stays."""
    least = dict(part)
    for field in _fields_of(part):
        if field == "":
            return _smaller({"type": part.get("type"), "text": OMISSION}, part, count_tokens)
        value = part.get(field)
        if not value:
            continue
        if isinstance(value, str):
            least[field] = shortened_text(value, 0)
        elif field == "tool_output":
            least[field] = OMISSION
        else:
            mark = {OMISSION: len(json.dumps(value, ensure_ascii=False))}
            least = dict(_smaller({**least, field: mark}, least, count_tokens))
    return least


def _smaller(mark: Part, part: Part, count_tokens: TokenCounter) -> Part:
    return min(mark, part, key=lambda one: count_tokens(countable_text((one,))))


def _with_value(least: Part, original: Part, field: str, chars: int | None) -> Part:
    """Return the part with one value of the original: cut to `chars` characters a text, or whole for None."""
    if field == "":
        return original if chars is None else dict(_cut(original, chars))
    value = original.get(field)
    return {**least, field: value if chars is None else shortened_value(value, chars)}


def _cut(part: Part, chars: int) -> Part:
    return {key: value if key == "type" else shortened_value(value, chars) for key, value in part.items()}


def _most_whole(fits: Callable[[int], bool], most: int) -> int:
    """Return how many values fit whole; a predicate that holds more often never gives a smaller number."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
