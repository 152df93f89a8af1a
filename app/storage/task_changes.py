"""Waiting for tasks to change: any number of waiters share the one connection of their process that listens."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Final

from app.domain.errors import Unavailable
from app.storage.tasks import TASKS_CHANNEL
from app.storage.transaction import Database

RECONNECT_SECONDS: Final = 1.0


class TaskChanges:
    """Wakes those who wait for a task. A wake-up is a hint: look again, and look now and then without one.

    The first waiter opens the connection, which stays; `aclose` ends it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._listener: asyncio.Task[None] | None = None
        self.closing = False

    @property
    def waiting(self) -> int:
        """Return how many wait at this moment."""
        return sum(len(events) for events in self._waiting.values())

    @contextmanager
    def watching(self, task_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever the task may have changed; the waiter clears it."""
        if self._listener is None and not self.closing:
            # A context of its own: the request that happens to come first must not name what is logged for all.
            self._listener = asyncio.create_task(self._listen(), name="task-changes", context=Context())
        changed = asyncio.Event()
        waiting = self._waiting.setdefault(task_id, set())
        waiting.add(changed)
        try:
            yield changed
        finally:
            waiting.discard(changed)
            if not waiting:
                self._waiting.pop(task_id, None)

    def release(self) -> None:
        """Wake everybody for the last time: the process is about to end, and nobody should hold it up."""
        self.closing = True
        self._wake(*self._waiting)

    async def aclose(self) -> None:
        """Release everybody and close the connection."""
        self.release()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])

    async def _listen(self) -> None:
        while True:
            with suppress(Unavailable):
                async with self._database.payloads(TASKS_CHANNEL) as task_ids:
                    self._wake(*self._waiting)  # what changed while nobody listened
                    async for task_id in task_ids:
                        self._wake(task_id)
            await asyncio.sleep(RECONNECT_SECONDS)

    def _wake(self, *task_ids: str) -> None:
        for task_id in task_ids:
            for changed in self._waiting.get(task_id, ()):
                changed.set()
