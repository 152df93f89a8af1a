"""Failed archives are retried, discarded or covered by the next one; whatever races, it is one of these and no more."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.archives import StepOutcome
from app.domain.errors import Conflict, NotFound, PreconditionFailed
from app.domain.scope import Scope
from app.domain.tasks import Task, TaskStatus
from tests.support.fake_model import REFUSED, UNAVAILABLE, FakeModel, Gate
from tests.support.house import commit, ended, tell, working


async def failed(services: Services, scope: Scope, model: FakeModel, *texts: str, session: str = "talk") -> Task:
    """Commit while the model refuses."""
    model.turns.append(REFUSED)
    task = await ended(services, scope, await commit(services, scope, session, *texts))
    assert task.status is TaskStatus.FAILED
    return task


async def context(services: Services, scope: Scope) -> list[int]:
    return [message.seq for message in (await services.context.assemble(scope, "talk", 10_000)).fitted.messages]


def jobs(superuser: psycopg.Connection) -> Sequence[tuple[object, ...]]:
    return superuser.execute(
        "SELECT archive_no, state, outcome, attempts, max_attempts FROM cairn.jobs ORDER BY archive_no"
    ).fetchall()


def faults(superuser: psycopg.Connection) -> Sequence[object]:
    return superuser.execute("SELECT fault FROM cairn.check_sessions").fetchall()


async def test_a_retry_runs_the_same_job_again_with_more_attempts(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "tea: green")
    before = await services.archives.get(scope, "talk", "archive_001")
    again = await services.tasks.retry(scope, str(task.archive.task_id))
    assert (again.status, again.archive.task_id) == (TaskStatus.PENDING, task.archive.task_id)
    assert jobs(superuser) == [(1, "ready", None, 1, 6)]
    async with working(services):
        done = await ended(services, scope, task.archive.task_id)
    assert (done.status, done.archive.outcome, done.error) == (TaskStatus.COMPLETED, "applied", None)
    assert jobs(superuser) == [(1, "done", "applied", 2, 6)]
    assert (await services.archives.get(scope, "talk", "archive_001")).messages == before.messages
    assert await context(services, scope) == []
    with pytest.raises(PreconditionFailed, match="nothing to retry"):
        await services.tasks.retry(scope, str(task.archive.task_id))
    assert faults(superuser) == []


async def test_what_was_cancelled_can_be_retried(services: Services, scope: Scope) -> None:
    task_id = str(await commit(services, scope, "talk", "one"))
    await services.tasks.cancel(scope, task_id)
    assert (await services.tasks.retry(scope, task_id)).status is TaskStatus.PENDING
    async with working(services):
        assert (await ended(services, scope, task_id)).status is TaskStatus.COMPLETED


async def test_a_retry_that_fails_again_is_tried_as_often_as_a_new_one(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "one")
    await services.tasks.retry(scope, str(task.archive.task_id))
    (claimed,) = await services.jobs.claim("here", ["working_memory"], limit=1)
    assert (claimed.attempt, claimed.max_attempts, claimed.is_last_attempt) == (2, 6, False)
    await services.jobs.give_up(claimed, UNAVAILABLE)
    (step,) = (await services.tasks.get(scope, str(task.archive.task_id))).steps
    assert (step.state, step.error_class, step.attempts) == ("ready", "MODEL_UNAVAILABLE", 2)
    assert step.next_attempt_at is not None
    (pause,) = superuser.execute("SELECT extract(epoch FROM run_at - now()) FROM cairn.jobs").fetchone()
    assert 1.0 < pause < 2.5  # as after the first failure of a new job


async def test_a_retry_after_a_later_document_ends_covered_and_asks_nobody(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "one")
        await ended(services, scope, await commit(services, scope, "talk", "two"))
        asked = model.asked
        covered = await services.tasks.get(scope, str(task.archive.task_id))
        assert (covered.status, covered.archive.working_memory) == (TaskStatus.COMPLETED, StepOutcome.COVERED)
        with pytest.raises(PreconditionFailed):
            await services.tasks.retry(scope, str(task.archive.task_id))
        # a failure that a document has passed by, as a cancellation at the last moment could leave it
        superuser.execute("UPDATE cairn.archives SET working_memory = 'failed' WHERE archive_no = 1")
        superuser.execute("UPDATE cairn.jobs SET state = 'failed', outcome = 'failed' WHERE archive_no = 1")
        again = await services.tasks.retry(scope, str(task.archive.task_id))
    assert (again.status, again.archive.working_memory) == (TaskStatus.COMPLETED, StepOutcome.COVERED)
    assert [(job[1], job[2]) for job in jobs(superuser)] == [("done", "covered"), ("done", "applied")]
    assert model.asked == asked
    assert faults(superuser) == []


async def test_a_retry_goes_in_front_of_later_archives_that_wait(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        first = await failed(services, scope, model, "one")
    second = await commit(services, scope, "talk", "two")
    await services.tasks.retry(scope, str(first.archive.task_id))
    assert [job[1] for job in jobs(superuser)] == ["ready", "waiting"]
    async with working(services):
        tasks = [await ended(services, scope, task_id) for task_id in (first.archive.task_id, second)]
    assert [task.archive.covers_from_seq for task in tasks] == [1, 2]


async def test_two_retries_at_once_are_one(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel, repetition: int
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "one")
    task_id = str(task.archive.task_id)
    ends = await asyncio.gather(*(services.tasks.retry(scope, task_id) for _ in range(4)), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["PreconditionFailed"] * 3 + ["Task"]
    async with working(services):
        await ended(services, scope, task_id)
    assert jobs(superuser) == [(1, "done", "applied", 2, 6)]


async def test_a_retry_while_the_next_update_runs_is_covered_by_it(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    gate = Gate()
    async with working(services):
        first = await failed(services, scope, model, "one")
        model.turns.append(gate)
        second = await commit(services, scope, "talk", "two")
        await gate.reached.wait()
        retried = await services.tasks.retry(scope, str(first.archive.task_id))
        assert (retried.status, retried.steps[0].state) == (TaskStatus.PENDING, "waiting")
        gate.opened.set()
        await ended(services, scope, second)
        task = await ended(services, scope, first.archive.task_id)
    assert (task.archive.working_memory, task.steps[0].outcome) == (StepOutcome.COVERED, "covered")
    assert (model.asked, await context(services, scope)) == (2, [])
    assert faults(superuser) == []


async def test_a_retry_racing_the_end_of_the_next_update_leaves_every_message_in_one_document(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel, repetition: int
) -> None:
    gate = Gate()
    async with working(services):
        first = await failed(services, scope, model, "one")
        model.turns.append(gate)
        second = await commit(services, scope, "talk", "two")
        await gate.reached.wait()
        retry = asyncio.create_task(services.tasks.retry(scope, str(first.archive.task_id)))
        gate.opened.set()
        with suppress(PreconditionFailed):  # covered a moment ago
            await retry
        ends = [await ended(services, scope, task_id) for task_id in (first.archive.task_id, second)]
    assert {end.status for end in ends} == {TaskStatus.COMPLETED}
    assert ends[1].archive.covers_from_seq == 1
    assert (ends[0].archive.working_memory, await context(services, scope)) == (StepOutcome.COVERED, [])
    assert faults(superuser) == []


async def test_a_discarded_archive_is_in_no_context_and_no_prompt(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "a secret")
        assert await context(services, scope) == [1]
        discarded = await services.tasks.discard(scope, str(task.archive.task_id))
        assert (discarded.status, discarded.archive.outcome) == (TaskStatus.CANCELLED, "discarded")
        assert (discarded.steps[0].outcome, discarded.steps[0].error_class) == ("discarded", "MODEL_REFUSED")
        assert await context(services, scope) == []
        await ended(services, scope, await commit(services, scope, "talk", "two"))
    assert [message.seq for message in model.requests[-1].source.messages] == [2]
    assert "secret" not in "".join(str(request.prompt) for request in model.requests[-1:])
    assert [m.seq for m in (await services.archives.get(scope, "talk", "archive_001")).messages] == [1]
    for chance in (services.tasks.retry, services.tasks.discard, services.tasks.cancel):
        with pytest.raises(PreconditionFailed):
            await chance(scope, str(task.archive.task_id))
    assert [t.archive.archive_no for t in await services.tasks.list_recent(scope, status="cancelled")] == [1]
    assert faults(superuser) == []


async def test_only_what_failed_can_be_discarded(services: Services, scope: Scope) -> None:
    task_id = str(await commit(services, scope, "talk", "one"))
    with pytest.raises(PreconditionFailed, match="has not failed"):
        await services.tasks.discard(scope, task_id)
    async with working(services):
        await ended(services, scope, task_id)
    with pytest.raises(PreconditionFailed):
        await services.tasks.discard(scope, task_id)


async def test_what_an_update_is_taking_in_cannot_be_discarded_meanwhile(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    gate = Gate()
    async with working(services):
        first = await failed(services, scope, model, "one")
        model.turns.append(gate)
        second = await commit(services, scope, "talk", "two")
        await gate.reached.wait()
        with pytest.raises(Conflict, match="taking these messages in"):
            await services.tasks.discard(scope, str(first.archive.task_id))
        await services.tasks.cancel(scope, str(second))
        gate.opened.set()
        await ended(services, scope, second)
    await services.tasks.discard(scope, str(first.archive.task_id))
    assert await context(services, scope) == [2]


async def test_a_kept_answer_that_saw_what_was_discarded_is_not_used(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        await failed(services, scope, model, "one")
        second = await failed(services, scope, model, "a secret")
    third = await commit(services, scope, "talk", "three")
    (claimed,) = await services.jobs.claim("frozen", ["working_memory"], limit=1)
    superuser.execute("UPDATE cairn.jobs SET epoch = epoch + 1 WHERE state = 'running'")  # the lease passes on
    with pytest.raises(Exception, match="lease of this job has passed"):
        await services.working_memory.process(claimed)
    superuser.execute(
        "UPDATE cairn.jobs SET state = 'ready', worker = NULL, lease_until = NULL WHERE state = 'running'"
    )
    await services.tasks.discard(scope, str(second.archive.task_id))
    async with working(services):
        await ended(services, scope, third)
    assert [[m.seq for m in request.source.messages] for request in model.requests[-2:]] == [[1, 2, 3], [1, 3]]


async def test_a_discard_racing_a_retry_is_one_or_the_other(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel, repetition: int
) -> None:
    async with working(services):
        task = await failed(services, scope, model, "one")
    task_id = str(task.archive.task_id)
    chances = [services.tasks.discard, services.tasks.retry]
    ends = await asyncio.gather(*(chance(scope, task_id) for chance in chances[:: 1 if repetition % 2 else -1]),
                                return_exceptions=True)  # fmt: skip
    assert sorted(type(end).__name__ for end in ends) == ["PreconditionFailed", "Task"]
    async with working(services):
        end = await ended(services, scope, task_id)
    assert (end.archive.outcome, await context(services, scope)) in [("discarded", []), ("applied", [])]
    assert (await services.working_memory.current(scope, "talk")).document is None or end.archive.has_document
    assert faults(superuser) == []


async def test_a_cancel_racing_the_end_is_one_or_the_other(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel, repetition: int
) -> None:
    gate = Gate()
    model.turns.append(gate)
    async with working(services):
        task_id = str(await commit(services, scope, "talk", "one"))
        await gate.reached.wait()
        cancel = asyncio.create_task(services.tasks.cancel(scope, task_id))
        gate.opened.set()
        await asyncio.wait([cancel])
        end = await ended(services, scope, task_id)
    document = (await services.working_memory.current(scope, "talk")).document
    if end.status is TaskStatus.CANCELLED:
        assert (document, await context(services, scope)) == (None, [1])
    else:
        assert (end.status, await context(services, scope)) == (TaskStatus.COMPLETED, [])
        assert document is not None
    assert faults(superuser) == []


async def test_tasks_of_others_have_no_second_chance_either(services: Services, scope: Scope, model: FakeModel) -> None:
    async with working(services):
        task = await failed(services, scope, model, "one")
    stranger = await services.identity.by_names("acme", "bob", create=True)
    assert stranger is not None
    for chance in (services.tasks.retry, services.tasks.discard):
        with pytest.raises(NotFound):
            await chance(stranger, str(task.archive.task_id))


async def test_a_page_of_tasks_begins_behind_the_last_one_whatever_comes_in(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    async with working(services):
        mine = [(await failed(services, scope, model, f"{n}", session=f"s{n % 2}")).archive.task_id for n in range(5)]
        await ended(services, scope, await commit(services, scope, "s0", "good"))
    first = await services.tasks.list_recent(scope, status="failed", limit=2)
    await tell(services, scope, "s9", "news")
    await services.tasks.cancel(scope, str(await commit(services, scope, "s9")))
    seen, page = [task.archive.task_id for task in first], first
    while page.has_more:
        cursor = str(page.tasks[-1].archive.task_id)
        page = await services.tasks.list_recent(scope, status="failed", limit=2, cursor=cursor)
        seen += [task.archive.task_id for task in page]
    covered = {task.archive.task_id for task in await services.tasks.list_recent(scope, status="completed")}
    assert seen == [task_id for task_id in mine[::-1] if task_id not in covered]
