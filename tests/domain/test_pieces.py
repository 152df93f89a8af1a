"""A conversation is cut at message boundaries to fit a window, and nothing is left out silently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.pieces import LINE_TOKENS, next_piece, shorten
from app.domain.prompts import SpokenMessage


def words(text: str) -> int:
    """One token per word: a counter that people can check by eye."""
    return len(text.split())


def message(seq: int, text: str) -> SpokenMessage:
    return SpokenMessage(seq, "user", None, "2031-04-09 10:00", text)


def test_what_fits_is_one_piece() -> None:
    said = [message(seq, "a few words") for seq in range(1, 6)]
    piece = next_piece(said, room=1000, count_tokens=words)
    assert piece.messages == tuple(said)
    assert piece.shortened == ()


def test_a_piece_ends_where_the_next_message_would_not_fit() -> None:
    said = [message(seq, "one two three four") for seq in range(1, 11)]
    piece = next_piece(said, room=3 * (4 + LINE_TOKENS), count_tokens=words)
    assert (piece.first_seq, piece.last_seq) == (1, 3)


def test_a_message_longer_than_its_share_is_shown_by_its_beginning_and_end() -> None:
    text = " ".join(f"w{number}" for number in range(1000))
    piece = next_piece([message(7, text)], room=400, count_tokens=words)
    shown = piece.messages[0].text
    assert piece.shortened == (7,)
    assert shown.startswith("w0 w1 ")
    assert shown.endswith(" w999")
    assert "characters are not shown here" in shown
    assert words(shown) <= 100


@given(
    texts=st.lists(st.text(alphabet="ab 漢字\n", max_size=300), min_size=1, max_size=12),
    room=st.integers(min_value=0, max_value=400),
)
def test_pieces_cover_every_message_once_and_in_order(texts: list[str], room: int) -> None:
    left = [message(seq, text) for seq, text in enumerate(texts, start=1)]
    seen: list[int] = []
    while left:
        piece = next_piece(left, room=room, count_tokens=len)
        seen += [shown.seq for shown in piece.messages]
        left = left[len(piece.messages) :]
    assert seen == list(range(1, len(texts) + 1))


@given(text=st.text(max_size=2000), budget=st.integers(min_value=60, max_value=500))
def test_a_shortened_text_keeps_its_budget(text: str, budget: int) -> None:
    shown = shorten(text, budget, len)
    assert len(shown) <= budget
    assert shown == text or text.startswith(shown.split("\n[…")[0])


@pytest.mark.parametrize("budget", [-5, 0, 1, 5])
def test_without_room_there_is_still_a_note(budget: int) -> None:
    assert "not shown" in shorten("word " * 500, budget, words)
