"""What overtakes, breaks or stops a worker costs nothing that was acknowledged."""

import asyncio

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.errors import AlreadyExists
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from app.domain.working_memory.sections import Section
from app.services.working_memory import working_memories
from app.worker import loop
from tests.support.fake_model import FakeModel, Gate
from tests.support.house import commit, ended, working
from tests.support.waiting import eventually

FACT = "- The budget is 750 EUR."


async def _waits_for_a_lock(superuser: psycopg.Connection) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return superuser.execute(query).fetchone() != (0,)


async def test_a_correction_that_an_update_overtakes_still_stands_in_the_newest_document(
    services: Services, scope: Scope, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one"))
        written, go_on, save = asyncio.Event(), asyncio.Event(), working_memories.working_memory.save

        async def save_late(*arguments: object, **options: object) -> None:
            written.set()
            await go_on.wait()
            await save(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(working_memories.working_memory, "save", save_late)
            task_id = await commit(services, scope, "talk", "two")
            await written.wait()  # the update holds its rows and has not committed
            patched.undo()
            correcting = asyncio.create_task(services.corrections.correct(scope, "talk", Section.KEY_FACTS, FACT))
            await eventually(lambda: _waits_for_a_lock(superuser), "a correction that waits")
            go_on.set()
            await ended(services, scope, task_id)
            corrected = await correcting
    newest = (await services.working_memory.current(scope, "talk")).document
    assert newest is not None
    assert (corrected.archive_no, newest.archive_no) == (2, 2)
    assert newest.bodies[Section.KEY_FACTS] == FACT


async def test_a_queue_that_refuses_for_a_while_ends_no_worker(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    superuser.execute("ALTER FUNCTION cairn.claim_jobs RENAME TO claim_jobs_elsewhere")
    try:
        async with working(services):
            task_id = await commit(services, scope, "talk", "one")
            refused = "SELECT state FROM cairn.jobs"
            await eventually(lambda: _one(superuser, refused, "ready"), "a job that nobody can claim")
            superuser.execute("ALTER FUNCTION cairn.claim_jobs_elsewhere RENAME TO claim_jobs")
            assert (await ended(services, scope, task_id)).status is TaskStatus.COMPLETED
    finally:
        if superuser.execute("SELECT to_regproc('cairn.claim_jobs_elsewhere')").fetchone() != (None,):
            superuser.execute("ALTER FUNCTION cairn.claim_jobs_elsewhere RENAME TO claim_jobs")


async def test_a_stopping_worker_gives_back_what_waits_for_a_model(
    services: Services,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "DRAIN_SECONDS", 0.1)
    gate = Gate()
    model.turns.append(gate)
    task_id = await commit(services, scope, "talk", "one")
    async with working(services, "first"):
        await gate.reached.wait()
    held = superuser.execute("SELECT state, attempts, error_class FROM cairn.jobs").fetchone()
    assert held == ("ready", 0, "released")
    async with working(services, "second"):
        assert (await ended(services, scope, task_id)).status is TaskStatus.COMPLETED


async def test_an_account_without_its_administrator_is_never_left_behind(
    services: Services, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as patched:
        patched.setattr("app.storage.identity.store_key", fail)
        with pytest.raises(ConnectionResetError):
            await services.identity.create_account("fresh", "ann")
    assert superuser.execute("SELECT count(*) FROM cairn.accounts WHERE name = 'fresh'").fetchone() == (0,)
    assert await services.identity.create_account("fresh", "ann")
    with pytest.raises(AlreadyExists):
        await services.identity.create_account("fresh", "ann")


async def _one(superuser: psycopg.Connection, query: str, wanted: object) -> bool:
    return superuser.execute(query).fetchone() == (wanted,)
