"""Work that nobody asks for, again and again: each task after its own pause, beside the jobs.

Every worker does all of it, and any number of workers may: a task looks again at what it is about to change under the
lock of its row, so doing it twice is doing it once.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from app.bootstrap import Services
from app.domain.errors import AppError
from app.storage.failures import DATABASE_ERRORS, sqlstate

SPREAD: Final = 0.2
REVIVE_SECONDS: Final = 60.0
FORGET_SECONDS: Final = 600.0
log: Final = structlog.get_logger("cairn.schedule")


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """One task; seconds is the pause before each time, spread a little so that workers do not keep step."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]


def periodic_tasks(services: Services) -> tuple[PeriodicTask, ...]:
    """Return everything that is done again and again."""
    return (
        PeriodicTask(
            "commit_idle_sessions", services.worker_limits.idle_sweep_seconds, services.auto_commits.commit_idle
        ),
        PeriodicTask("revive_orphaned_steps", REVIVE_SECONDS, partial(_revive_orphans, services)),
        PeriodicTask("forget_old_rows", FORGET_SECONDS, services.upkeep.forget_old_rows),
    )


async def _revive_orphans(services: Services) -> None:
    for step in await services.upkeep.revive_orphans():
        # A seal and an end write step and job together: whatever parted them is worth finding.
        log.error("orphaned_step_revived", session=step.session_id, archive=step.archive_no, step=step.step)


async def keep_schedule(tasks: tuple[PeriodicTask, ...]) -> None:
    """Run the tasks until cancelled. One that fails is logged and tried again after its pause."""
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(_repeat(task), name=task.name)


async def _repeat(task: PeriodicTask) -> None:
    while True:
        await asyncio.sleep(task.seconds * random.uniform(1 - SPREAD, 1 + SPREAD))  # noqa: S311  (no secret)
        try:
            done = await task.run()
            if done:
                log.info("periodic_task_done", task=task.name, done=done)
        except AppError as error:
            log.warning("periodic_task_failed", task=task.name, error_class=error.code, reason=error.message)
        except DATABASE_ERRORS as error:
            log.error(
                "periodic_task_failed", task=task.name, error_class=type(error).__name__, sqlstate=sqlstate(error)
            )
