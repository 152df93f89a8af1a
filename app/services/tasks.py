"""Use cases of tasks: how the work after a commit is doing, stopping it, and giving it another chance."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final
from uuid import UUID

from app.domain.errors import InvalidInput, PreconditionFailed, Unavailable, task_not_found
from app.domain.scope import Scope
from app.domain.tasks import Task, TaskPage, TaskStatus
from app.storage import tasks
from app.storage.task_changes import TaskChanges
from app.storage.transaction import Database, Transaction

POLL_SECONDS: Final = 2.0
"""Longest time until a change is seen that nobody was woken for."""

HEARTBEAT_SECONDS: Final = 15.0


class Tasks:
    """Look at tasks, wait for them, follow, cancel, retry and discard them."""

    def __init__(self, database: Database, changes: TaskChanges, *, max_attempts: int) -> None:
        self._database = database
        self._changes = changes
        self._max_attempts = max_attempts

    async def get(self, scope: Scope, task_id: str) -> Task:
        """Return a task. Raises NotFound, also for an id that cannot be one."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            return await _require(tx, scope, task_id)

    async def list_recent(
        self,
        scope: Scope,
        *,
        session_name: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> TaskPage:
        """Return the caller's tasks, the newest first.

        cursor: the id of a task, to go on behind it. Raises InvalidInput for a status or a cursor that is none.
        """
        wanted = _task_status(status) if status is not None else None
        async with self._database.transaction(scope, snapshot=True) as tx:
            after = await _behind(tx, scope, cursor) if cursor is not None else None
            found = await tasks.list_page(
                tx, scope, session_name=session_name, status=wanted, after=after, limit=limit + 1
            )
        return TaskPage(tuple(found[:limit]), has_more=len(found) > limit)

    async def cancel(self, scope: Scope, task_id: str) -> Task:
        """End what waits and ask what runs to stop.

        Raises: NotFound, PreconditionFailed when the task is finished.
        """
        async with self._database.transaction(scope) as tx:
            task = await _require(tx, scope, task_id)
            if await tasks.cancel(tx, scope, task.archive) == 0:
                raise PreconditionFailed(f"Task {task_id} is finished already ({task.status}).", {"task_id": task_id})
            return await _require(tx, scope, task_id)

    async def retry(self, scope: Scope, task_id: str) -> Task:
        """Let the failed steps run again, each the same job with more attempts.

        What a later update took in meanwhile is not done again and ends covered.
        Raises: NotFound, PreconditionFailed when nothing failed.
        """
        async with self._database.transaction(scope) as tx:
            task = await _require(tx, scope, task_id)
            await tasks.retry(tx, scope, task.archive, more_attempts=self._max_attempts)
            return await _require(tx, scope, task_id)

    async def discard(self, scope: Scope, task_id: str) -> Task:
        """Leave a failed or cancelled archive out of contexts and prompts, on purpose and for good.

        Raises: NotFound, PreconditionFailed when it has not failed, Conflict while a later update takes it in.
        """
        async with self._database.transaction(scope) as tx:
            task = await _require(tx, scope, task_id)
            await tasks.discard(tx, scope, task.archive)
            return await _require(tx, scope, task_id)

    async def wait(self, scope: Scope, task_id: str, timeout_seconds: float) -> Task:
        """Return the task when it has ended, or as it is after timeout_seconds. Raises NotFound."""
        deadline = time.monotonic() + timeout_seconds
        with self._changes.watching(task_id) as changed:
            task = await self.get(scope, task_id)
            while not task.status.is_final and not self._changes.closing and (left := deadline - time.monotonic()) > 0:
                await _set_within(changed, min(POLL_SECONDS, left))
                task = await self.get(scope, task_id)
        return task

    async def follow(self, scope: Scope, task_id: str) -> AsyncGenerator[Task | None, None]:
        """Yield a task as it is and whenever it changed, until it has ended or is gone; None is a sign of life.

        States that follow each other closely may be seen as one. A database that is away is waited for.
        """
        shown, alive = None, time.monotonic()
        with self._changes.watching(task_id) as changed:
            while not self._changes.closing:
                task = shown
                with suppress(Unavailable):
                    task = await self._find(scope, task_id)
                    if task is None:
                        return
                if task != shown or time.monotonic() - alive >= HEARTBEAT_SECONDS:
                    yield task if task != shown else None
                    shown, alive = task, time.monotonic()
                if task is not None and task.status.is_final:
                    return
                await _set_within(changed, POLL_SECONDS)

    @property
    def waiting(self) -> int:
        """Return how many wait for a task or follow one at this moment, in this process."""
        return self._changes.waiting

    def release(self) -> None:
        """Let nobody wait any longer: the process is about to end."""
        self._changes.release()

    async def _find(self, scope: Scope, task_id: str) -> Task | None:
        async with self._database.transaction(scope, snapshot=True) as tx:
            return await tasks.get(tx, scope, _parsed(task_id))


async def _set_within(changed: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    changed.clear()


async def _require(tx: Transaction, scope: Scope, task_id: str) -> Task:
    task = await tasks.get(tx, scope, _parsed(task_id))
    if task is None:
        raise task_not_found(task_id)
    return task


async def _behind(tx: Transaction, scope: Scope, cursor: str) -> Task:
    try:
        task = await tasks.get(tx, scope, UUID(cursor))
    except ValueError:
        task = None
    if task is None:
        raise InvalidInput("cursor must be the id of one of your tasks.", {"field": "cursor"})
    return task


def _parsed(task_id: str) -> UUID:
    try:
        return UUID(task_id)
    except ValueError as error:
        raise task_not_found(task_id) from error


def _task_status(text: str) -> TaskStatus:
    try:
        return TaskStatus(text)
    except ValueError as error:
        known = ", ".join(status.value for status in TaskStatus)
        raise InvalidInput(f"Unknown status {text!r}; one of: {known}.", {"field": "status"}) from error
