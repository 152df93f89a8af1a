"""Texts and JSON values shown in part.

With more room nothing is ever shown shorter: the search for the longest beginning and end walks a grid that does not
depend on the room.
"""

from collections.abc import Callable
from typing import Final

OMISSION: Final = "[…]"
HEAD_SHARE: Final = 0.75
"""A text that is cut shows its beginning and, in a quarter of the room, its end."""

_HALVINGS: Final = 8


def shortened_text(text: str, chars: int) -> str:
    """Return a text with `chars` characters of its beginning and end around a mark, or as it is if it is not longer."""
    if len(text) <= max(chars, len(OMISSION)):
        return text
    head = chars - int(chars * (1 - HEAD_SHARE))
    tail = chars - head
    return text[:head] + OMISSION + (text[-tail:] if tail else "")


def shortened_value(value: object, chars: int) -> object:
    """Return a JSON value in which no text is longer than `chars` characters; its shape and its keys stay."""
    match value:
        case str():
            return shortened_text(value, chars)
        case dict():
            return {key: shortened_value(member, chars) for key, member in value.items()}
        case list():
            return [shortened_value(member, chars) for member in value]
        case _:
            return value


def longest_text(value: object) -> int:
    """Return the number of characters of the longest text in a JSON value."""
    match value:
        case str():
            return len(value)
        case dict():
            return max(map(longest_text, value.values()), default=0)
        case list():
            return max(map(longest_text, value), default=0)
        case _:
            return 0


def most_chars(fits: Callable[[int], bool], most: int) -> int:
    """Return about the greatest number below `most` that fits, 0 for none, without ever trying much larger ones.

    It is found by doubling, then by halving steps: on a grid that is the same for every allowance.
    """
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, high * 2
    step = high - low
    for _ in range(_HALVINGS):
        step //= 2
        if step and low + step < most and fits(low + step):
            low += step
    return low
