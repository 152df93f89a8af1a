import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.shortening import OMISSION, longest_text, most_chars, shortened_text, shortened_value


@pytest.mark.parametrize(
    ("text", "chars", "shown"),
    [
        ("", 0, ""),
        ("abc", 0, "abc"),
        ("abcd", 0, OMISSION),
        ("abcd", 4, "abcd"),
        ("abcdefgh", 1, "a" + OMISSION),
        ("abcdefgh", 4, "abc" + OMISSION + "h"),
        ("潮汐表每周三更新", 4, "潮汐表" + OMISSION + "新"),
    ],
)
def test_a_text_is_shown_by_its_beginning_and_its_end(text: str, chars: int, shown: str) -> None:
    assert shortened_text(text, chars) == shown


@given(text=st.text(max_size=60), chars=st.integers(0, 60))
def test_more_room_never_shows_less_of_a_text(text: str, chars: int) -> None:
    less, more = shortened_text(text, chars), shortened_text(text, chars + 1)
    if OMISSION in more and OMISSION not in text:
        assert all(len(a) <= len(b) for a, b in zip(less.split(OMISSION), more.split(OMISSION), strict=True))


def test_a_value_keeps_its_shape() -> None:
    value = {"path": "a.py", "lines": ["x" * 50, 7, None, {"deep": "y" * 50}], "n": 1.5}
    cut = shortened_value(value, 8)
    assert cut == {"path": "a.py", "lines": ["x" * 6 + OMISSION + "xx", 7, None, {"deep": "y" * 6 + OMISSION + "yy"}],
                   "n": 1.5}  # fmt: skip
    assert (longest_text(value), longest_text(3)) == (50, 0)


@given(limit=st.integers(-1, 5_000), most=st.integers(0, 3_000))
def test_the_search_comes_close_and_never_too_high(limit: int, most: int) -> None:
    found = most_chars(lambda chars: chars <= limit, most)
    best = max(min(limit, most - 1), 0)
    assert best * 0.99 - 1 <= found <= best


@given(fitting=st.sets(st.integers(1, 200)), more=st.sets(st.integers(1, 200)))
def test_the_search_never_finds_less_where_more_fits(fitting: set[int], more: set[int]) -> None:
    """Token counts are not quite monotone in the length of a text; the promise holds all the same."""
    assert most_chars(fitting.__contains__, 200) <= most_chars((fitting | more).__contains__, 200)
