"""Use cases of tasks: how the work after a commit is doing, and stopping it."""

import asyncio
import time
from typing import Final
from uuid import UUID

from app.domain.errors import InvalidInput, PreconditionFailed, task_not_found
from app.domain.scope import Scope
from app.domain.tasks import Task, TaskStatus
from app.storage import archives
from app.storage.transaction import Database

POLL_SECONDS: Final = 0.2


class Tasks:
    """Look at tasks, wait for them, cancel them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, scope: Scope, task_id: str) -> Task:
        """Return a task. Raises NotFound, also for an id that cannot be one."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            task = await archives.get_task(tx, scope, _parsed(task_id))
        if task is None:
            raise task_not_found(task_id)
        return task

    async def list_recent(
        self, scope: Scope, *, session_name: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[Task]:
        """Return the caller's tasks, the newest first. Raises InvalidInput for a status that is none."""
        wanted = _task_status(status) if status is not None else None
        async with self._database.transaction(scope, snapshot=True) as tx:
            return await archives.list_tasks(tx, scope, session_name=session_name, status=wanted, limit=limit)

    async def cancel(self, scope: Scope, task_id: str) -> Task:
        """End what waits and ask what runs to stop.

        Raises: NotFound, PreconditionFailed when the task is finished.
        """
        async with self._database.transaction(scope) as tx:
            task = await archives.get_task(tx, scope, _parsed(task_id))
            if task is None:
                raise task_not_found(task_id)
            if await archives.cancel(tx, scope, task.archive) == 0:
                raise PreconditionFailed(f"Task {task_id} is finished already ({task.status}).", {"task_id": task_id})
        return await self.get(scope, task_id)

    async def wait(self, scope: Scope, task_id: str, timeout_seconds: float) -> Task:
        """Return the task when it has ended, or as it is after timeout_seconds. Raises NotFound."""
        deadline = time.monotonic() + timeout_seconds
        task = await self.get(scope, task_id)
        while not task.status.is_final and (left := deadline - time.monotonic()) > 0:
            # The state changes in the database, by any worker anywhere: there is no event in this process to wait for.
            await asyncio.sleep(min(POLL_SECONDS, left))
            task = await self.get(scope, task_id)
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
