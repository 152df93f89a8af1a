import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.jobs import BACKOFF_BASE_SECONDS, BACKOFF_MAX_SECONDS, Job, backoff_seconds


def test_the_pause_doubles_from_two_seconds_to_five_minutes() -> None:
    pauses = [backoff_seconds(attempt, 0.5) for attempt in range(1, 10)]
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, BACKOFF_MAX_SECONDS]


@given(attempt=st.integers(1, 100), jitter=st.floats(0, 1), asked_for=st.one_of(st.none(), st.floats(0, 10_000)))
def test_a_pause_is_never_shorter_than_asked_for_nor_longer_than_five_minutes(
    attempt: int, jitter: float, asked_for: float | None
) -> None:
    pause = backoff_seconds(attempt, jitter, asked_for=asked_for)
    assert 0.8 * BACKOFF_BASE_SECONDS <= pause <= BACKOFF_MAX_SECONDS
    assert pause >= min(asked_for or 0, BACKOFF_MAX_SECONDS)


@pytest.mark.parametrize(("attempt", "last"), [(1, False), (4, False), (5, True), (6, True)])
def test_the_last_attempt_is_the_one_that_reaches_the_limit(attempt: int, last: bool) -> None:
    job = Job(account_id=1, id=1, kind="working_memory", epoch=1, attempt=attempt, max_attempts=5)
    assert job.is_last_attempt is last
