"""When a session commits itself: the policy it may have, and whether it is due."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Final

LARGEST: Final[Mapping[str, int]] = {
    "pending_token_threshold": 1_000_000,
    "message_count_threshold": 1_000,
    "idle_timeout_seconds": 604_800,
    "keep_recent_count": 1_000,
    "min_commit_interval_seconds": 604_800,
}
"""The largest value of each field of a policy; a larger one is taken for it."""


@dataclass(frozen=True, slots=True)
class AutoCommitPolicy:
    """When a session commits itself. A threshold or timeout of 0 is off.

    keep_recent_count: how many messages stay live after a commit for a threshold.
    min_commit_interval_seconds: pause between two commits for a threshold.
    """

    pending_token_threshold: int = 150_000
    message_count_threshold: int = 100
    idle_timeout_seconds: int = 86_400
    keep_recent_count: int = 0
    min_commit_interval_seconds: int = 0

    @classmethod
    def stored(cls, values: Mapping[str, object]) -> "AutoCommitPolicy":
        """Return a policy as it was stored or given; fields that are missing have their defaults."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        return cls(**{name: clamped(name, value) for name, value in known.items()})

    def as_dict(self) -> dict[str, int]:
        """Return all five fields by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AutoCommitState:
    """What the session row said when the last message was stored.

    outside_window: live messages that the remembered retention would archive. by_turns: that retention keeps turns.
    work_open: an archive of the session is still being worked on.
    """

    policy: AutoCommitPolicy
    live_count: int
    outside_window: int
    pending_tokens: int
    last_auto_commit_at: datetime | None = None
    work_open: bool = False
    by_turns: bool = False


def clamped(field: str, value: object) -> int:
    """Return a value of a policy as a whole number from 0 to its largest: fractions are cut, numbers in text are read.

    Raises: ValueError for anything that is no number.
    """
    if not isinstance(value, int | float | str):
        raise ValueError("must be a number")
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise ValueError("must be a number") from None
    return min(max(number, 0), LARGEST[field])


def should_commit(state: AutoCommitState, now: datetime) -> bool:
    """Return whether a session is due after a message was stored.

    The count is that of the messages the commit would archive: a window as large as the limit must not bring a commit
    with every further message.
    """
    policy = state.policy
    uncommitted = state.pending_tokens > 0 or state.outside_window > 0
    if not uncommitted or state.work_open or _paused(state, now):
        return False
    would_go = state.outside_window if state.by_turns else state.live_count - policy.keep_recent_count
    return _above(state.pending_tokens, policy.pending_token_threshold) or _above(
        would_go, policy.message_count_threshold
    )


def is_idle(policy: AutoCommitPolicy, last_message_at: datetime | None, now: datetime) -> bool:
    """Return whether nothing was said for as long as the policy waits."""
    if last_message_at is None or policy.idle_timeout_seconds == 0:
        return False
    return last_message_at + timedelta(seconds=policy.idle_timeout_seconds) <= now


def _paused(state: AutoCommitState, now: datetime) -> bool:
    pause = timedelta(seconds=state.policy.min_commit_interval_seconds)
    return state.last_auto_commit_at is not None and now < state.last_auto_commit_at + pause


def _above(value: int, limit: int) -> bool:
    return 0 < limit < value
