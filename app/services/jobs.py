"""Use cases of the queue: what a worker asks for between its jobs."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from app.domain.errors import (
    AppError,
    InvalidInput,
    ModelAnswerUnusable,
    ModelRefused,
    Unavailable,
)
from app.domain.jobs import Job, JobTenant, backoff_seconds
from app.storage import jobs
from app.storage.jobs import CANCEL_CHANNEL, JOBS_CHANNEL, RELEASED, HeldJob, StepEnd
from app.storage.transaction import Database


class Jobs:
    """Claim jobs, keep them, give them back, end them."""

    def __init__(self, database: Database, *, lease_seconds: float) -> None:
        self._database = database
        self._lease = timedelta(seconds=lease_seconds)

    async def claim(self, worker: str, kinds: Sequence[str], *, limit: int) -> list[Job]:
        """Take up to `limit` due jobs, of any tenant. The lease runs from now."""
        async with self._database.statement(None) as statement:
            return await jobs.claim(statement, worker, kinds, limit=limit, lease=self._lease)

    async def heartbeat(self, worker: str, held: Sequence[Job]) -> list[HeldJob]:
        """Extend the leases of these jobs; one that is missing in the reply was taken away."""
        async with self._database.statement(None) as statement:
            return await jobs.heartbeat(statement, worker, held, lease=self._lease)

    async def reap(self, worker: str) -> int:
        """Give back the jobs of dead workers; end those that have no attempt left. Returns how many were ended."""
        async with self._database.statement(None) as statement:
            spent = await jobs.reap(statement, worker, backoff=timedelta(0))
        for job in spent:
            await self._end(job, StepEnd("failed", "lease_expired", "The worker died in every attempt."))
        return len(spent)

    async def give_up(self, job: Job, error: AppError) -> str:
        """End a job that raised, or put it back for another attempt; returns the state it went to."""
        end = ending(job, error, random.random())  # noqa: S311  (jitter, not a secret)
        await self._end(job, end)
        return "retry" if end.retry_in is not None else "failed"

    async def fail(self, job: Job, error_class: str) -> str:
        """End a job that met a bug, or put it back for another attempt; returns the state it went to."""
        text = f"Internal error ({error_class}); the log has the details."
        pause = timedelta(seconds=backoff_seconds(job.attempt_since_retry, random.random()))  # noqa: S311
        end = StepEnd("failed", error_class, text, None if job.is_last_attempt else pause)
        await self._end(job, end)
        return "failed" if job.is_last_attempt else "retry"

    async def give_back(self, job: Job) -> None:
        """Put a job back at once, as if it had not been claimed: the worker stops, the job did nothing wrong."""
        await self._end(job, StepEnd("failed", RELEASED, "The worker was stopped.", retry_in=timedelta(0)))

    async def cancelled(self, job: Job) -> None:
        """End a job that was asked to stop."""
        await self._end(job, StepEnd("cancelled", "cancelled", "Cancelled on request."))

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """Open the stream of wake-ups: a job became ready, or a running one was asked to stop."""
        return self._database.notifications(JOBS_CHANNEL, CANCEL_CHANNEL)

    async def count(self) -> list[tuple[str, str, int]]:
        """Return how many unfinished jobs there are by kind and state, over all tenants."""
        async with self._database.statement(None) as statement:
            return await jobs.count(statement)

    async def _end(self, job: Job, end: StepEnd) -> None:
        tenant = JobTenant(job.account_id)
        async with self._database.transaction(tenant) as tx:
            await jobs.finish_step(tx, tenant, job, end)


def ending(job: Job, error: AppError, jitter: float) -> StepEnd:
    """Return what an error means for a job: another attempt after a pause, or the end.

    A refusal is final at once. An unusable answer and an unreachable service are tried again, as long as attempts are
    left.
    """
    permanent = isinstance(error, ModelRefused | InvalidInput)
    outcome = "unusable" if isinstance(error, ModelAnswerUnusable) else "failed"
    if permanent or job.is_last_attempt:
        return StepEnd(outcome, error.code, error.message)
    asked_for = error.retry_after_seconds if isinstance(error, Unavailable) else None
    pause = timedelta(seconds=backoff_seconds(job.attempt_since_retry, jitter, asked_for=asked_for))
    return StepEnd(outcome, error.code, error.message, retry_in=pause)
