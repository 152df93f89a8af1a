"""Jobs: pieces of work that are rows, and when a failed one is tried again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

BACKOFF_BASE_SECONDS: Final = 2.0
BACKOFF_MAX_SECONDS: Final = 300.0
TRIED_BEFORE: Final = "tried_before"
"""Where the payload of a retried job says how many attempts it had; cairn.requeue_steps writes it."""


class JobKind(StrEnum):
    """What a worker can be asked to do; a test pairs each kind with its handler."""

    WORKING_MEMORY = "working_memory"


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job. epoch is the fencing token: only its holder may end the job.

    attempt counts from 1; session_id and archive_no are set for the steps of an archive.
    """

    account_id: int
    id: int
    kind: str
    epoch: int
    attempt: int
    max_attempts: int
    user_id: int | None = None
    session_id: int | None = None
    archive_no: int | None = None
    payload: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_last_attempt(self) -> bool:
        return self.attempt >= self.max_attempts

    @property
    def attempt_since_retry(self) -> int:
        """Return which attempt it is since somebody asked for a retry: pauses begin anew with that."""
        before = self.payload.get(TRIED_BEFORE, 0)
        return self.attempt - before if isinstance(before, int) else self.attempt


@dataclass(frozen=True, slots=True)
class JobTenant:
    """The account of a job, before anybody knows whose session it is about."""

    account_id: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """The state of one step's job, for people who ask how a task is doing.

    next_attempt_at is there while a failed attempt is waited out. pieces_done counts the questions answered so far,
    None where nobody knows. shortened_messages are the seqs of those the model saw in part only: they make an outcome
    partial.
    """

    step: str
    state: str
    outcome: str | None
    attempts: int
    error_class: str | None
    error_text: str | None
    started_at: datetime | None
    finished_at: datetime | None
    cancel_asked: bool = False
    shortened_messages: tuple[int, ...] = ()
    max_attempts: int | None = None
    next_attempt_at: datetime | None = None
    pieces_done: int | None = None


def backoff_seconds(attempt: int, jitter: float, *, asked_for: float | None = None) -> float:
    """Return the pause before the next attempt: doubling from two seconds, at most five minutes.

    attempt: the one that just failed, from 1. jitter: a random number from 0 to 1, spread over ±20 %.
    asked_for: what the service said (Retry-After); never waited less than that, and at most five minutes.
    """
    own = BACKOFF_BASE_SECONDS * 2.0 ** (min(attempt, 12) - 1) * (0.8 + 0.4 * jitter)
    return min(max(own, asked_for or 0.0), BACKOFF_MAX_SECONDS)
