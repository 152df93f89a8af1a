"""When a session commits itself."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.auto_commit import AutoCommitPolicy, AutoCommitState, clamped, is_idle, should_commit
from tests.support.handed_data import load_test_data, skipped_without_data

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def state(live: int = 0, pending: int = 0, *, keep: int = 0, **policy: int) -> AutoCommitState:
    return AutoCommitState(AutoCommitPolicy(**policy), live, max(live - keep, 0), pending)


@pytest.mark.parametrize(
    ("given", "due"),
    [
        (state(10, 100, pending_token_threshold=100, message_count_threshold=10), False),
        (state(10, 101, pending_token_threshold=100, message_count_threshold=10), True),
        (state(11, 100, pending_token_threshold=100, message_count_threshold=10), True),
        (state(9999, 999_999, pending_token_threshold=0, message_count_threshold=0), False),
        (state(0, 0, pending_token_threshold=1, message_count_threshold=1), False),
        (state(4, 0, keep=3, message_count_threshold=3, keep_recent_count=3), False),
        (state(6, 40, keep=3, message_count_threshold=3, keep_recent_count=3), False),
        (state(7, 50, keep=3, message_count_threshold=3, keep_recent_count=3), True),
        (state(50, 0, keep=50, message_count_threshold=10), False),
    ],
)
def test_a_session_is_due_strictly_above_a_limit(given: AutoCommitState, due: bool) -> None:
    assert should_commit(given, NOW) is due


@pytest.mark.parametrize(
    ("last", "due"), [(None, True), (NOW - HOUR, True), (NOW - HOUR + timedelta(seconds=1), False), (NOW, False)]
)
def test_a_session_rests_between_two_commits(last: datetime | None, due: bool) -> None:
    waiting = replace(
        state(5, 50, pending_token_threshold=10, min_commit_interval_seconds=3600), last_auto_commit_at=last
    )
    assert should_commit(waiting, NOW) is due


def test_work_that_is_open_holds_the_next_commit() -> None:
    assert not should_commit(replace(state(5, 50, pending_token_threshold=10), work_open=True), NOW)


@given(
    live=st.integers(0, 30), pending=st.integers(0, 30), remembered=st.integers(0, 30), keep=st.integers(0, 30),
    limit=st.integers(0, 30), by_turns=st.booleans(),
)  # fmt: skip
def test_a_commit_for_the_count_archives_more_messages_than_the_limit(
    live: int, pending: int, remembered: int, keep: int, limit: int, by_turns: bool
) -> None:
    given = state(
        live, pending, keep=remembered, keep_recent_count=keep, message_count_threshold=limit, pending_token_threshold=0
    )
    if should_commit(replace(given, by_turns=by_turns), NOW):
        assert limit > 0
        assert (given.outside_window if by_turns else live - keep) > limit


@pytest.mark.parametrize(
    ("spoke", "timeout", "idle"),
    [(NOW - HOUR, 3600, True), (NOW - HOUR, 3601, False), (NOW - HOUR, 0, False), (None, 1, False)],
)
def test_a_session_is_idle_when_its_timeout_is_over(spoke: datetime | None, timeout: int, idle: bool) -> None:
    assert is_idle(AutoCommitPolicy(idle_timeout_seconds=timeout), spoke, NOW) is idle


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5), (5.9, 5), (-1, 0), (1001, 1000), (10**30, 1000), (True, 1), ("25", 25), (0, 0), (-0.5, 0)],
)
def test_a_number_is_cut_and_clamped(value: object, number: int) -> None:
    assert clamped("message_count_threshold", value) == number


@pytest.mark.parametrize("value", [None, "x", "", "2.5", [], {}, float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        clamped("message_count_threshold", value)


def vectors() -> list[Mapping[str, Any]]:
    """Return the handed decisions, but for those a better rule replaces."""
    handed = load_test_data("vectors", "working_memory.json")
    return [
        vector
        for vector in (handed["vectors"] if handed else [])
        if vector["group"] == "auto_commit_trigger" and vector["status"] == "conform"
    ]


@pytest.mark.parametrize("vector", vectors() or [skipped_without_data()], ids=lambda vector: vector["id"])
def test_decisions_are_those_of_the_handed_cases(vector: Mapping[str, Any]) -> None:
    policy, meta = vector["input"]["policy"], vector["input"]["meta"]
    if policy is None:
        return  # a session without a policy never gets this far
    last = meta.get("last_auto_commit_at")
    given = AutoCommitState(
        policy=AutoCommitPolicy.stored(policy),
        live_count=meta["message_count"],
        outside_window=max(meta["message_count"] - meta.get("keep_recent_count", 0), 0),
        pending_tokens=meta["pending_tokens"],
        last_auto_commit_at=None if last is None else NOW if last == "now" else datetime.fromisoformat(last),
    )
    assert should_commit(given, NOW) is vector["expected"]["commit"]
