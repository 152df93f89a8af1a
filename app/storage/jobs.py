"""The queue as rows: claim, keep alive, take back, and end a step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.domain.documents import BaseDocument
from app.domain.errors import StaleDocument
from app.domain.jobs import Job
from app.domain.scope import Scope
from app.storage import tables as t
from app.storage.failures import DOCUMENT_MOVED, sqlstate
from app.storage.transaction import Statement, Tenant, Transaction

JOBS_CHANNEL: Final = "cairn_jobs"
CANCEL_CHANNEL: Final = "cairn_cancel"
RELEASED: Final = "released"
"""error_class of a job that a stopping worker gave back: cairn.finish_step does not count the attempt."""

_JOB: Final = "account_id, id, kind, epoch, attempts, max_attempts, user_id, session_id, archive_no, payload"
CLAIM: Final = f"SELECT {_JOB} FROM cairn.claim_jobs(%s, %s::text[], %s, %s)"  # noqa: S608  (a constant list of columns)
_REAP: Final = f"SELECT {_JOB}, state FROM cairn.reap_jobs(%s, %s)"  # noqa: S608
_HEARTBEAT: Final = """
    SELECT account_id, id, epoch, cancel_asked
      FROM cairn.heartbeat_jobs(%s, %s::bigint[], %s::bigint[], %s::int[], %s)
"""
_COUNT: Final = "SELECT kind, state, jobs, oldest_due FROM cairn.count_jobs()"
_START: Final = sa.text("SELECT cairn.start_archive(:account, :session, :archive)")
_FINISH: Final = sa.text(
    "SELECT cairn.finish_step(:account, :job, :epoch, :outcome, :error_class, :error_text, :retry_in,"
    " :base, :base_revision, :abstract, :source, :provider, :result)"
).bindparams(sa.bindparam("result", type_=JSONB))


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that a worker still holds, as its heartbeat was told."""

    account_id: int
    id: int
    epoch: int
    cancel_asked: bool


@dataclass(frozen=True, slots=True)
class StepEnd:
    """How a step ends, or that it goes back to the queue.

    retry_in: pause before the next attempt; None ends the step with `outcome`.
    base, abstract, source, provider: only where a document was written. result: what else is worth telling.
    """

    outcome: str | None = None
    error_class: str | None = None
    error_text: str | None = None
    retry_in: timedelta | None = None
    base: BaseDocument | None = None
    abstract: str | None = None
    source: str | None = None
    provider: str | None = None
    result: Mapping[str, object] | None = None


def _job(row: Sequence[Any]) -> Job:
    account_id, job_id, kind, epoch, attempts, max_attempts, user_id, session_id, archive_no, payload = row[:10]
    return Job(
        account_id=account_id,
        id=job_id,
        kind=kind,
        epoch=epoch,
        attempt=attempts,
        max_attempts=max_attempts,
        user_id=user_id,
        session_id=session_id,
        archive_no=archive_no,
        payload=payload,
    )


async def claim(statement: Statement, worker: str, kinds: Sequence[str], *, limit: int, lease: timedelta) -> list[Job]:
    """Take up to `limit` due jobs for a worker. Never waits for a lock."""
    return [_job(row) for row in await statement.rows(CLAIM, (worker, list(kinds), limit, lease))]


async def heartbeat(statement: Statement, worker: str, jobs: Sequence[Job], *, lease: timedelta) -> list[HeldJob]:
    """Extend the leases of these jobs; one that does not come back was taken away."""
    arguments = (worker, [j.account_id for j in jobs], [j.id for j in jobs], [j.epoch for j in jobs], lease)
    return [HeldJob(*row) for row in await statement.rows(_HEARTBEAT, arguments)]


async def reap(statement: Statement, reaper: str, *, backoff: timedelta) -> list[Job]:
    """Give jobs of dead workers back; return those with no attempt left, which the caller must end."""
    rows = await statement.rows(_REAP, (reaper, backoff))
    return [_job(row) for row in rows if row[10] == "running"]


async def count(statement: Statement) -> list[tuple[str, str, int]]:
    """Return how many unfinished jobs there are by kind and state, over all tenants."""
    return [(kind, state, jobs) for kind, state, jobs, _ in await statement.rows(_COUNT)]


async def start_archive(tx: Transaction, scope: Scope, session_id: int, archive_no: int) -> None:
    """Note when the first step of an archive began."""
    await tx.execute(_START, {"account": scope.account_id, "session": session_id, "archive": archive_no})


async def finish_step(tx: Transaction, tenant: Tenant, job: Job, end: StepEnd) -> bool:
    """End a step in the transaction that writes its rows; False = the job is no longer ours: roll back.

    Raises: StaleDocument when the base moved since it was read.
    """
    arguments = {
        "account": tenant.account_id,
        "job": job.id,
        "epoch": job.epoch,
        "outcome": end.outcome,
        "error_class": end.error_class,
        "error_text": end.error_text[:2000] if end.error_text else None,
        "retry_in": end.retry_in,
        "base": end.base.archive_no if end.base else None,
        "base_revision": end.base.revision if end.base else None,
        "abstract": end.abstract,
        "source": end.source,
        "provider": end.provider,
        "result": dict(end.result) if end.result is not None else None,
    }
    try:
        return bool((await tx.execute(_FINISH, arguments)).scalar_one())
    except sa.exc.DBAPIError as error:
        if sqlstate(error) == DOCUMENT_MOVED:
            raise StaleDocument("The working memory moved while this update was prepared.") from error
        raise


async def scope_of(tx: Transaction, job: Job) -> Scope | None:
    """Return the owner of a job's session, None when the session is gone."""
    query = (
        sa.select(t.accounts.c.name, t.users.c.id, t.users.c.name)
        .join_from(t.users, t.accounts, t.accounts.c.id == t.users.c.account_id)
        .where(t.users.c.account_id == job.account_id, t.users.c.id == job.user_id)
    )
    row = (await tx.execute(query)).one_or_none()
    return Scope(job.account_id, row[1], row[0], row[2]) if row else None
