from uuid import UUID

import pytest

from app.bootstrap import Services
from app.domain.errors import InvalidInput, NotFound, PreconditionFailed
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from tests.support.fake_model import REFUSED, FakeModel
from tests.support.house import commit, ended, working


async def test_tasks_are_listed_by_session_and_state_the_newest_first(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    async with working(services):
        done = await commit(services, scope, "talk", "one")
        await ended(services, scope, done)
        model.turns.append(REFUSED)
        failed = await commit(services, scope, "chat", "two")
        await ended(services, scope, failed)
    waiting = await commit(services, scope, "talk", "three")

    async def listed(**wanted: object) -> list[object]:
        return [task.archive.task_id for task in await services.tasks.list_recent(scope, **wanted)]

    assert await listed() == [waiting, failed, done]
    assert await listed(limit=1) == [waiting]
    assert await listed(session_name="talk") == [waiting, done]
    assert await listed(session_name="nobody") == []
    assert await listed(status="failed") == [failed]
    assert await listed(status="pending") == [waiting]
    assert await listed(status="cancelling") == []
    with pytest.raises(InvalidInput, match="one of: pending, running"):
        await listed(status="splendid")


async def test_a_task_that_is_being_cancelled_is_listed_as_such_and_as_nothing_else(
    services: Services, scope: Scope
) -> None:
    task_id = await commit(services, scope, "talk", "one")
    await services.jobs.claim("elsewhere", ["working_memory"], limit=1)
    assert (await services.tasks.cancel(scope, str(task_id))).status is TaskStatus.CANCELLING
    (task,) = await services.tasks.list_recent(scope, status="cancelling")
    assert task.archive.task_id == task_id
    assert [list(await services.tasks.list_recent(scope, status=status)) for status in ("pending", "running")] == [
        [],
        [],
    ]


@pytest.mark.parametrize("task_id", ["", "x", "archive_001", str(UUID(int=7))])
async def test_a_task_nobody_knows_is_not_found(services: Services, scope: Scope, task_id: str) -> None:
    with pytest.raises(NotFound):
        await services.tasks.get(scope, task_id)
    with pytest.raises(NotFound):
        await services.tasks.cancel(scope, task_id)


async def test_a_finished_task_cannot_be_cancelled(services: Services, scope: Scope) -> None:
    async with working(services):
        task = await ended(services, scope, await commit(services, scope, "talk", "one"))
    with pytest.raises(PreconditionFailed, match="finished already"):
        await services.tasks.cancel(scope, str(task.archive.task_id))


async def test_waiting_gives_the_end_or_the_state_at_the_deadline(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    task_id = str(await commit(services, scope, "talk", "one"))
    assert (await services.tasks.wait(scope, task_id, 0.0)).status is TaskStatus.PENDING
    async with working(services):
        assert (await services.tasks.wait(scope, task_id, 20.0)).status is TaskStatus.COMPLETED
