"""Use cases of upkeep: what a worker does now and then so that the rest stays right and small."""

from datetime import timedelta
from typing import Final

from app.domain.jobs import JobTenant
from app.storage import upkeep
from app.storage.transaction import Database
from app.storage.upkeep import Forgotten, OrphanedStep

BATCH: Final = 2_000


class Upkeep:
    """Revive what was orphaned, forget what is old."""

    def __init__(self, database: Database, *, max_attempts: int, jobs_days: float, model_answers_days: float) -> None:
        self._database = database
        self._max_attempts = max_attempts
        self._jobs_after = timedelta(days=jobs_days)
        self._answers_after = timedelta(days=model_answers_days)

    async def revive_orphans(self) -> list[OrphanedStep]:
        """Give open steps without a living job a job again and return them. There should never be one."""
        async with self._database.statement(None) as statement:
            found = await upkeep.orphaned_steps(statement, limit=BATCH)
        revived = []
        for step in found:
            tenant = JobTenant(step.account_id)
            async with self._database.transaction(tenant) as tx:
                if await upkeep.revive(tx, tenant, step, attempts=self._max_attempts):
                    revived.append(step)
        return revived

    async def forget_old_rows(self) -> Forgotten:
        """Remove expired replies, old finished jobs and old model answers, batch by batch; return how many."""
        replies = jobs = answers = 0
        while True:
            async with self._database.statement(None) as statement:
                gone = await upkeep.forget(
                    statement, jobs_after=self._jobs_after, answers_after=self._answers_after, limit=BATCH
                )
            replies, jobs, answers = replies + gone.replies, jobs + gone.jobs, answers + gone.answers
            if gone.most < BATCH:
                return Forgotten(replies, jobs, answers)
