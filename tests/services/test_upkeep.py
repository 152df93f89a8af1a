"""What should never be is mended and told, and what is old goes."""

from datetime import timedelta

import psycopg
import pytest
from structlog.testing import capture_logs

from app.bootstrap import Services
from app.domain.idempotency import KeyedRequest
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from app.services import upkeep
from app.worker.schedule import periodic_tasks
from tests.support.conversations import said
from tests.support.fake_model import REFUSED, FakeModel
from tests.support.house import commit, ended, somebody, working

OLD = timedelta(days=400)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM cairn.jobs",
        "UPDATE cairn.jobs SET state = 'done', outcome = 'applied', finished_at = now()",
        "UPDATE cairn.jobs SET state = 'failed', outcome = 'failed', finished_at = now(), attempts = 5",
    ],
)
async def test_an_open_step_that_lost_its_job_gets_one_again_and_the_log_says_so(
    services: Services, scope: Scope, superuser: psycopg.Connection, damage: str
) -> None:
    other = await somebody(services, "zeta", "zoe")
    lost = [await commit(services, whose, "talk", "hello") for whose in (scope, other)]
    superuser.execute(damage)
    (task,) = [task for task in periodic_tasks(services) if task.name == "revive_orphaned_steps"]
    with capture_logs() as logs:
        await task.run()
        await task.run()
    found = [entry for entry in logs if entry["event"] == "orphaned_step_revived"]
    assert [(entry["log_level"], entry["step"]) for entry in found] == [("error", "working_memory")] * 2
    async with working(services):
        ends = [await ended(services, whose, one) for whose, one in zip((scope, other), lost, strict=True)]
    assert {end.status for end in ends} == {TaskStatus.COMPLETED}
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def test_a_step_with_a_living_job_is_left_alone(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await commit(services, scope, "talk", "waits")
    await commit(services, scope, "talk", "waits behind it")
    await commit(services, scope, "chat", "runs")
    await services.jobs.claim("here", ["working_memory"], limit=1)
    before = superuser.execute("SELECT * FROM cairn.jobs ORDER BY id").fetchall()
    assert await services.upkeep.revive_orphans() == []
    assert superuser.execute("SELECT * FROM cairn.jobs ORDER BY id").fetchall() == before


async def test_what_is_past_its_time_goes_batch_by_batch_and_what_can_be_retried_stays(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "BATCH", 2)
    async with working(services):
        done = [await commit(services, scope, f"s{n}", "hello") for n in range(3)]
        for task_id in done:
            await ended(services, scope, task_id)
        model.turns.append(REFUSED)
        failed = await commit(services, scope, "bad", "hello")
        await ended(services, scope, failed)
        superuser.execute("UPDATE cairn.jobs SET created_at = now() - %s, finished_at = now() - %s", [OLD, OLD])
        superuser.execute("UPDATE cairn.model_answers SET created_at = now() - %s", [OLD])
        await ended(services, scope, await commit(services, scope, "new", "hello"))
    for n in range(3):
        request = KeyedRequest(f"k{n}", "POST /", bytes(32))
        await services.messages.append_once(scope, "keyed", [said()], request, lambda _: {})
    superuser.execute("UPDATE cairn.idempotency_keys SET expires_at = now() WHERE key <> 'k0'")
    gone = await services.upkeep.forget_old_rows()
    assert (gone.replies, gone.jobs, gone.answers) == (2, 3, 3)
    assert not await services.upkeep.forget_old_rows()
    assert superuser.execute("SELECT key FROM cairn.idempotency_keys").fetchall() == [("k0",)]
    assert superuser.execute("SELECT count(*) FROM cairn.model_answers").fetchone() == (1,)
    states = superuser.execute("SELECT state FROM cairn.jobs ORDER BY id").fetchall()
    assert states == [("failed",), ("done",)]
    forgotten = await services.tasks.get(scope, str(done[0]))
    assert (forgotten.status, forgotten.steps) == (TaskStatus.COMPLETED, ())
    assert (await services.tasks.retry(scope, str(failed))).status is TaskStatus.PENDING
