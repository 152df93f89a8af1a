import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.archives import SkipReason, ToolPair, archive_id, parse_archive_id, plan_cut, skip_reason


@pytest.mark.parametrize(
    ("sealed", "last", "keep", "pairs", "cut"),
    [
        (0, 10, 0, [], 10),
        (0, 10, 3, [], 7),
        (0, 10, 10, [], 0),
        (0, 10, 10_000, [], 0),
        (4, 10, 8, [], 4),
        (0, 10, 3, [ToolPair(7, 8)], 6),
        (0, 10, 3, [ToolPair(6, 7)], 7),
        (0, 10, 3, [ToolPair(6, 9), ToolPair(2, 6)], 1),
        (0, 10, 3, [ToolPair(7, 7)], 7),
        (0, 10, 0, [ToolPair(10, None)], 9),
        (0, 10, 0, [ToolPair(1, None)], 0),
        (4, 10, 3, [ToolPair(4, 9)], 7),
        (4, 10, 3, [ToolPair(5, 9)], 4),
    ],
)
def test_a_cut_keeps_the_window_and_every_pair(
    sealed: int, last: int, keep: int, pairs: list[ToolPair], cut: int
) -> None:
    assert plan_cut(sealed_seq=sealed, wanted=last - keep, pairs=pairs) == cut


@given(
    last=st.integers(0, 30),
    sealed=st.integers(0, 30),
    keep=st.integers(0, 40),
    ends=st.lists(st.tuples(st.integers(1, 30), st.one_of(st.none(), st.integers(0, 10))), max_size=8),
)
def test_a_cut_is_the_latest_that_tears_nothing(
    last: int, sealed: int, keep: int, ends: list[tuple[int, int | None]]
) -> None:
    sealed = min(sealed, last)
    pairs = [ToolPair(call, None if gap is None else call + gap) for call, gap in ends if call <= last]
    cut = plan_cut(sealed_seq=sealed, wanted=last - keep, pairs=pairs)
    live = [pair for pair in pairs if pair.call_seq > sealed]
    latest = max(sealed, last - keep)
    assert sealed <= cut <= latest
    whole = [c for c in range(sealed, latest + 1) if c == sealed or not any(pair.is_torn_by(c) for pair in live)]
    assert cut == max(whole)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "archive_001"), (999, "archive_999"), (1000, "archive_1000"), (123456789, "archive_123456789")],
)
def test_archive_ids_read_back_as_the_number_they_were_made_of(number: int, text: str) -> None:
    assert archive_id(number) == text
    assert parse_archive_id(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "archive_1", "archive_000", "archive_0001", "Archive_001", "archive_001 ", "archive_00١", "archive_-01",
     "archive_1234567890", "../archive_001"],
)  # fmt: skip
def test_text_that_is_not_exactly_an_archive_id_is_none(text: str) -> None:
    assert parse_archive_id(text) is None


def test_a_commit_is_skipped_for_one_of_two_reasons() -> None:
    assert skip_reason(live_count=0) is SkipReason.NO_MESSAGES
    assert skip_reason(live_count=3) is SkipReason.ALL_WITHIN_KEEP_WINDOW
