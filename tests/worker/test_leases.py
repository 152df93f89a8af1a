"""Jobs outlive their workers: a lease that ends is taken over, and whoever lost it can write nothing any more."""

import asyncio
from collections import Counter

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from tests.support.fake_model import UNAVAILABLE, FakeModel, Gate
from tests.support.house import commit, ended, working
from tests.support.job_rows import job
from tests.support.waiting import eventually
from tests.worker.conftest import OpenHouse


async def test_a_job_asked_to_stop_whose_worker_died_ends_cancelled(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    task_id = await commit(services, scope, "talk", "hello")
    await services.jobs.claim("dead", ["working_memory"], limit=1)
    await services.tasks.cancel(scope, str(task_id))
    async with working(services):
        assert (await ended(services, scope, task_id)).status is TaskStatus.CANCELLED
    assert model.asked == 0


async def test_the_job_of_a_dead_worker_is_taken_over_after_its_lease(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    task_id = await commit(services, scope, "talk", "hello")
    await services.jobs.claim("dead", ["working_memory"], limit=1)
    lease = job(superuser).lease_until
    async with working(services, "heir"):
        task = await ended(services, scope, task_id)
    row = job(superuser)
    assert (task.status, row.attempts, row.finished_at > lease) == (TaskStatus.COMPLETED, 2, True)


async def test_a_job_that_kills_every_worker_ends(open_house: OpenHouse, scope: Scope, model: FakeModel) -> None:
    async with open_house(max_attempts=1) as services:
        task_id = await commit(services, scope, "talk", "hello")
        await services.jobs.claim("dead", ["working_memory"], limit=1)
        async with working(services):
            task = await ended(services, scope, task_id)
    assert (task.status, model.asked) == (TaskStatus.FAILED, 0)
    assert task.error == "working_memory: The worker died in every attempt."


async def test_a_slow_worker_that_lost_its_job_can_no_longer_finish_it(
    services: Services,
    open_house: OpenHouse,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    repetition: int,
) -> None:
    gate = Gate()
    slow_model = FakeModel(gate)
    task_id = await commit(services, scope, "talk", "hello")
    async with open_house(slow_model) as frozen:
        (claimed,) = await frozen.jobs.claim("frozen", ["working_memory"], limit=1)
        processing = asyncio.create_task(frozen.working_memory.process(claimed))
        await gate.reached.wait()
        async with working(services):
            task = await ended(services, scope, task_id)
        before = superuser.execute("SELECT xmin::text, * FROM cairn.working_memory_sections").fetchall()
        gate.opened.set()
        with pytest.raises(Exception, match="lease of this job has passed"):
            await processing
        await frozen.jobs.give_up(claimed, UNAVAILABLE)
    assert superuser.execute("SELECT xmin::text, * FROM cairn.working_memory_sections").fetchall() == before
    assert (await services.tasks.get(scope, str(task_id))).archive == task.archive
    assert (len(before), model.asked, slow_model.asked) == (7, 1, 1)


async def test_an_answer_that_was_kept_is_applied_without_asking_again(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    task_id = await commit(services, scope, "talk", "hello")
    (claimed,) = await services.jobs.claim("frozen", ["working_memory"], limit=1)
    superuser.execute("UPDATE cairn.jobs SET epoch = epoch + 1")  # the lease passes on while the model is asked
    with pytest.raises(Exception, match="lease of this job has passed"):
        await services.working_memory.process(claimed)
    async with working(services):
        task = await ended(services, scope, task_id)
    assert (task.status, model.asked) == (TaskStatus.COMPLETED, 1)
    assert job(superuser).attempts == 2


async def test_many_workers_do_each_job_once(
    services: Services,
    open_house: OpenHouse,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    repetition: int,
) -> None:
    tasks = [await commit(services, scope, f"talk-{n}", f"{n}:{i}") for n in range(8) for i in range(3)]
    async with (
        open_house() as second,
        open_house() as third,
        working(services, "a"),
        working(second, "b"),
        working(third, "c"),
    ):
        ends = [await ended(services, scope, task_id) for task_id in tasks]
    assert {task.status for task in ends} == {TaskStatus.COMPLETED}
    assert Counter(model.heard) == Counter(f"{n}:{i}" for n in range(8) for i in range(3))
    assert superuser.execute("SELECT count(*) FROM cairn.jobs WHERE attempts <> 1").fetchone() == (0,)
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def test_a_worker_goes_on_when_the_database_comes_back(
    services: Services,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    repetition: int,
) -> None:
    gate = Gate()
    model.turns.append(gate)
    async with working(services):
        task_id = await commit(services, scope, "talk", "hello")
        await gate.reached.wait()
        for _ in range(2):
            superuser.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE datname = current_database() AND usename = 'cairn_test_app'")  # fmt: skip
        gate.opened.set()

        async def completed() -> bool:
            superuser.execute("UPDATE cairn.jobs SET run_at = now() WHERE state = 'ready'")
            return superuser.execute("SELECT status FROM cairn.archives").fetchone() == ("completed",)

        await eventually(completed, "the archive being completed")
    assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.COMPLETED
