import pytest

from app.domain.tool_results.reading import find_matches

TEXT = "潮 Tide tide\ntidetide 潮"


@pytest.mark.parametrize(
    ("wanted", "limit", "offsets"),
    [
        ("tide", 20, [7, 12, 16]),
        ("tide", 2, [7, 12]),
        ("Tide", 20, [2]),
        ("潮", 20, [0, 21]),
        ("t.de", 20, []),
        ("", 20, []),
        (TEXT, 20, [0]),
    ],
)
def test_a_text_is_found_letter_for_letter(wanted: str, limit: int, offsets: list[int]) -> None:
    found = find_matches(TEXT, wanted, limit=limit, context_chars=0)
    assert [match.offset for match in found] == offsets
    assert {match.snippet for match in found} <= {wanted}


def test_matches_do_not_overlap() -> None:
    assert [match.offset for match in find_matches("aaaaa", "aa", limit=9, context_chars=0)] == [0, 2]


def test_a_match_shows_what_stands_around_it() -> None:
    (match,) = find_matches(TEXT, "Tide", limit=1, context_chars=2)
    assert match.snippet == "潮 Tide t"
