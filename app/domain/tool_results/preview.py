"""What a message shows in place of a large output or input of a tool."""

import json
from typing import Final

from app.domain.messages import as_kept
from app.domain.shortening import OMISSION, longest_text, most_chars, shortened_text, shortened_value
from app.domain.tool_results.kinds import Kind

LONGEST_SYNOPSIS: Final = 400


def full_text(value: object) -> str:
    """Return the text of an output or input: itself, or its JSON."""
    return value if isinstance(value, str) else json.dumps(as_kept(value), ensure_ascii=False)


def output_preview(text: str, kind: Kind, synopsis: str, reference: str, *, most: int) -> str:
    """Return a note about a text, then its beginning and end, in at most `most` characters if the note leaves room.

    reference: where the whole of it can be read.
    """
    note = (
        f"[{len(text)} characters of {kind.value} are kept in full as {reference}]\n"
        "[read on there by offset and limit, or search it for a literal text]\n"
        f"[{shortened_text(synopsis, LONGEST_SYNOPSIS)}]"
    )
    room = most - len(note) - len(OMISSION) - 1
    if kind is Kind.BINARY or room <= 0:
        return note
    return f"{note}\n{shortened_text(text, room)}"


def input_preview(value: object, *, most: int) -> object:
    """Return an input with its texts cut so that its JSON has at most `most` characters; its shape stays if it can."""

    def fits(chars: int) -> bool:
        return len(full_text(shortened_value(value, chars))) <= most

    chars = most_chars(fits, longest_text(value))
    if chars or fits(0):
        return shortened_value(value, chars)
    return OMISSION if isinstance(value, str) else {OMISSION: len(full_text(value))}
