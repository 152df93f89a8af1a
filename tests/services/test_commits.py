import asyncio

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.archives import Sealed, Skipped, SkipReason
from app.domain.commits import keeping
from app.domain.errors import InvalidInput, NotFound
from app.domain.retention import retention_of
from app.domain.scope import Scope
from tests.support.house import tell
from tests.support.waiting import eventually


async def test_sealing_makes_an_archive_and_the_work_on_it_and_touches_no_message(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await tell(services, scope, "talk", "one", "two", "three")
    before = superuser.execute("SELECT xmin::text, xmax::text, * FROM cairn.messages ORDER BY seq").fetchall()
    sealed = await services.commits.seal(scope, "talk", keeping(1))
    assert isinstance(sealed, Sealed)
    (archive,) = await services.archives.list_all(scope, "talk")
    assert (archive.first_seq, archive.last_seq, archive.status, archive.trigger) == (1, 2, "pending", "request")
    assert archive.task_id == sealed.task_id
    task = await services.tasks.get(scope, str(sealed.task_id))
    assert [(step.step, step.state, step.attempts) for step in task.steps] == [("working_memory", "ready", 0)]
    rewritten = superuser.execute("SELECT xmin::text, * FROM cairn.messages ORDER BY seq").fetchall()
    assert [row[0] for row in rewritten] == [row[0] for row in before]


async def test_a_commit_with_nothing_to_archive_remembers_its_window(services: Services, scope: Scope) -> None:
    await services.sessions.create(scope, "talk")
    empty = await services.commits.seal(scope, "talk", keeping(3))
    assert isinstance(empty, Skipped)
    assert empty.reason is SkipReason.NO_MESSAGES
    await tell(services, scope, "talk", "one", "two")
    kept = await services.commits.seal(scope, "talk", keeping(2))
    assert isinstance(kept, Skipped)
    assert kept.reason is SkipReason.ALL_WITHIN_KEEP_WINDOW
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.keep_recent_count, session.archive_count, session.last_commit_at) == (2, 0, None)


@pytest.mark.parametrize("keep", [-1, 10_001])
def test_a_window_that_cannot_be_is_refused(keep: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        retention_of(keep_recent_count=keep)
    assert refused.value.details["field"] == "keep_recent_count"


async def test_a_session_that_is_not_there_cannot_be_committed(services: Services, scope: Scope) -> None:
    with pytest.raises(NotFound):
        await services.commits.seal(scope, "nobody")


async def test_a_commit_wakes_the_workers(services: Services, scope: Scope) -> None:
    await tell(services, scope, "talk", "one")
    heard: list[str] = []

    async def listen() -> None:
        async with services.jobs.notifications() as channels:
            heard.append("listening")
            heard.append(await anext(channels))

    listening = asyncio.create_task(listen())

    async def is_listening() -> bool:
        return bool(heard)

    await eventually(is_listening, "listening")
    await services.commits.seal(scope, "talk")
    await asyncio.wait_for(listening, 10)
    assert heard == ["listening", "cairn_jobs"]
