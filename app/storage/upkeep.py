"""Upkeep over all tenants: steps that nobody works on, and rows that are past their time."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import sqlalchemy as sa

from app.storage.transaction import Statement, Tenant, Transaction

_ORPHANED: Final = "SELECT account_id, session_id, archive_no, step FROM cairn.orphaned_steps(%s)"
_FORGET: Final = "SELECT replies, jobs, answers FROM cairn.forget_old_rows(%s, %s, %s)"
_REVIVE: Final = sa.text("SELECT cairn.revive_step(:account, :session, :archive, :step, :more)")


@dataclass(frozen=True, slots=True)
class OrphanedStep:
    """An open step of an archive that has no living job."""

    account_id: int
    session_id: int
    archive_no: int
    step: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many rows of each kind were removed."""

    replies: int
    jobs: int
    answers: int

    def __bool__(self) -> bool:
        return self.most > 0

    @property
    def most(self) -> int:
        return max(self.replies, self.jobs, self.answers)


async def orphaned_steps(statement: Statement, *, limit: int) -> list[OrphanedStep]:
    """Return steps that are open although no job works on them."""
    return [OrphanedStep(*row) for row in await statement.rows(_ORPHANED, (limit,))]


async def revive(tx: Transaction, tenant: Tenant, step: OrphanedStep, *, attempts: int) -> bool:
    """Give a step a job again; False when it has one after all, or has ended."""
    arguments = {
        "account": tenant.account_id,
        "session": step.session_id,
        "archive": step.archive_no,
        "step": step.step,
        "more": attempts,
    }
    return bool((await tx.execute(_REVIVE, arguments)).scalar_one())


async def forget(statement: Statement, *, jobs_after: timedelta, answers_after: timedelta, limit: int) -> Forgotten:
    """Remove expired replies, and finished jobs and model answers of that age; at most `limit` of each kind."""
    (row,) = await statement.rows(_FORGET, (jobs_after, answers_after, limit))
    return Forgotten(*row)
