"""The worker: claims jobs, runs them in slots, keeps their leases, and gives back what others dropped.

Any number of workers on any number of machines share one queue. A NOTIFY wakes this one; a poll stands behind it.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import structlog

from app.bootstrap import Services
from app.domain.errors import AppError, JobLost, Unavailable
from app.domain.jobs import Job, JobKind
from app.observability import job_context
from app.storage.failures import DATABASE_ERRORS, sqlstate
from app.worker.handlers import handlers
from app.worker.schedule import keep_schedule, periodic_tasks

POLL_SECONDS: Final = 2.0
RECONNECT_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 10.0
log: Final = structlog.get_logger("cairn.worker")
_Held: TypeAlias = tuple[int, int, int]


def worker_name() -> str:
    """Return a name that no other worker has: host, process and six random digits."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(slots=True)
class _Slot:
    job: Job
    task: asyncio.Task[None]
    cancel_asked: bool = False
    lost: bool = False
    given_back: bool = False


@dataclass(slots=True)
class Worker:
    """One worker process. `run` returns when `stop` is set and the jobs in hand have ended."""

    services: Services
    name: str = field(default_factory=worker_name)
    _held: dict[_Held, _Slot] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop, then let the jobs in hand finish."""
        log.info("worker_started", worker=self.name, slots=self.services.worker_limits.slots)
        async with asyncio.TaskGroup() as group:
            schedule = group.create_task(keep_schedule(periodic_tasks(self.services)))
            side = [group.create_task(self._listen()), group.create_task(self._keep_leases()), schedule]
            waker = group.create_task(self._wake_on(stop))
            await self._claim_until(stop)
            await self._drain()
            for task in (*side, waker):
                task.cancel()
        log.info("worker_stopped", worker=self.name)

    async def _wake_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    async def _claim_until(self, stop: asyncio.Event) -> None:
        kinds = [kind.value for kind in JobKind]
        while not stop.is_set():
            self._wake.clear()
            free = self.services.worker_limits.slots - len(self._held)
            claimed = await self._survive(self.services.jobs.claim(self.name, kinds, limit=free)) if free else None
            for job in claimed or ():
                task = asyncio.create_task(self._work(job), name=f"job-{job.id}")
                self._held[_key(job)] = _Slot(job, task)
            if not claimed:
                await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _drain(self) -> None:
        """Let the jobs in hand finish, but not for long: what still waits for a model then goes back to the queue."""
        tasks = [slot.task for slot in self._held.values()]
        if not tasks:
            return
        log.info("worker_drains", jobs=len(tasks), at_most_seconds=DRAIN_SECONDS)
        _, late = await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        for slot in self._held.values():
            slot.given_back = True
            slot.task.cancel()
        if late:
            await asyncio.wait(late)

    async def _work(self, job: Job) -> None:
        """Run one job to its end, whatever happens in it."""
        with job_context(job.id, job.kind, job.attempt):
            try:
                await self._handle(job)
            except asyncio.CancelledError:
                await self._stopped(job)
            finally:
                self._held.pop(_key(job), None)
                self._wake.set()

    async def _handle(self, job: Job) -> None:
        deadline = self.services.worker_limits.step_deadline_seconds
        try:
            async with asyncio.timeout(deadline):
                await handlers(self.services)[JobKind(job.kind)](job)
            log.info("job_done")
        except JobLost as error:
            log.info("job_lost", reason=error.message)
        except AppError as error:
            state = await self._survive(self.services.jobs.give_up(job, error))
            log.warning("job_gave_up", error_class=error.code, state=state)
        except TimeoutError:
            late = Unavailable(f"The step took longer than {deadline:g} seconds.")
            state = await self._survive(self.services.jobs.give_up(job, late))
            log.warning("job_timed_out", state=state)
        except Exception as error:  # one of the two outermost edges: a bug in a handler must not end the worker
            log.exception("job_failed")
            await self._survive(self.services.jobs.fail(job, type(error).__name__))

    async def _stopped(self, job: Job) -> None:
        slot = self._held.get(_key(job))
        if slot is not None and slot.cancel_asked and not slot.lost:
            await self._survive(self.services.jobs.cancelled(job))
            log.info("job_cancelled")
        elif slot is not None and slot.given_back and not slot.lost:
            await self._survive(self.services.jobs.give_back(job))
            log.info("job_given_back")
        else:
            log.info("job_lost", reason="The lease has passed on, or the worker stops.")

    async def _keep_leases(self) -> None:
        """Extend the leases three times in their length, and take back what dead workers held."""
        while True:
            await asyncio.sleep(self.services.worker_limits.lease_seconds / 3)
            await self._beat()
            await self._survive(self.services.jobs.reap(self.name))
            self._wake.set()  # what was taken back can be claimed now

    async def _beat(self) -> None:
        held = dict(self._held)  # a job claimed meanwhile is not judged by this beat
        if not held:
            return
        kept = await self._survive(self.services.jobs.heartbeat(self.name, [slot.job for slot in held.values()]))
        if kept is None:
            return
        asked = {(job.account_id, job.id, job.epoch): job.cancel_asked for job in kept}
        for key, slot in held.items():
            if key not in self._held:
                continue
            slot.lost = key not in asked
            slot.cancel_asked = asked.get(key, False)
            if slot.lost or slot.cancel_asked:
                slot.task.cancel()

    async def _listen(self) -> None:
        while True:
            try:
                async with self.services.jobs.notifications() as channels:
                    self._wake.set()
                    async for channel in channels:
                        self._wake.set()
                        if channel.endswith("cancel"):
                            await self._beat()
            except (Unavailable, *DATABASE_ERRORS) as error:
                log.warning("listen_interrupted", error_class=type(error).__name__)
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _survive(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Return what a call to the queue returns, None while the database is away: leases and the poll mend that."""
        try:
            return await call
        except Unavailable as error:
            log.warning("queue_unreachable", reason=error.message)
        except DATABASE_ERRORS as error:
            # A migration that is half-way, a missing grant: no reason to end the jobs in hand, nor the server.
            log.error("queue_refused", error_class=type(error).__name__, sqlstate=sqlstate(error))
        await asyncio.sleep(RECONNECT_SECONDS)
        return None


def _key(job: Job) -> _Held:
    return (job.account_id, job.id, job.epoch)
