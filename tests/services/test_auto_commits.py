"""Sessions that commit themselves."""

import asyncio
from typing import Any

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.archives import Sealed
from app.domain.commits import CommitOptions
from app.domain.messages import NewMessage
from app.domain.retention import Retention, TurnRetention
from app.domain.scope import Scope
from app.services.sealing import Sealing
from tests.support.conversations import answered, calls, said
from tests.support.house import ended, house, somebody, tell, working
from tests.support.waiting import eventually

QUIET = {"pending_token_threshold": 0, "message_count_threshold": 0, "idle_timeout_seconds": 0}


async def session_with(services: Services, scope: Scope, **policy: int) -> None:
    await services.sessions.create(scope, "talk", auto_commit_policy=QUIET | policy)


async def say(services: Services, scope: Scope, count: int, message: NewMessage | None = None) -> None:
    for _ in range(count):
        await services.messages.append(scope, "talk", [message or said()])


async def archives(services: Services, scope: Scope) -> list[tuple[int, int, str]]:
    return [(a.first_seq, a.last_seq, a.trigger) for a in await services.archives.list_all(scope, "talk")]


def finish_archives(superuser: psycopg.Connection) -> None:
    superuser.execute("UPDATE cairn.jobs SET state = 'done', finished_at = now()")
    superuser.execute("UPDATE cairn.archives SET working_memory = 'applied', covers_from_seq = first_seq,"
                      " base_archive_no = archive_no - 1")  # fmt: skip


async def test_a_message_above_the_limit_commits_its_session(services: Services, scope: Scope) -> None:
    await session_with(services, scope, message_count_threshold=3, keep_recent_count=1)
    await say(services, scope, 4)
    assert await archives(services, scope) == []
    await say(services, scope, 1)
    assert await archives(services, scope) == [(1, 4, "threshold")]
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.keep_recent_count, session.pending_tokens) == (1, 0)
    assert session.last_auto_commit_at == session.last_commit_at is not None


async def test_tokens_above_the_limit_commit_a_session(services: Services, scope: Scope) -> None:
    await session_with(services, scope, pending_token_threshold=20)
    await services.messages.append(scope, "talk", [said("one two three " * 10)])
    assert await archives(services, scope) == [(1, 1, "threshold")]


@pytest.mark.parametrize("keep", [2, 3, 20])
async def test_a_window_as_large_as_the_limit_does_not_commit_with_every_message(
    services: Services, scope: Scope, superuser: psycopg.Connection, keep: int
) -> None:
    await session_with(services, scope, message_count_threshold=3, keep_recent_count=keep)
    for _ in range(10):
        await say(services, scope, 1)
        finish_archives(superuser)
    assert [last - first + 1 for first, last, _ in await archives(services, scope)] == [4] * ((10 - keep) // 4)


async def test_an_archive_in_work_holds_the_next_commit(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await session_with(services, scope, message_count_threshold=1)
    await say(services, scope, 6)
    assert await archives(services, scope) == [(1, 2, "threshold")]
    finish_archives(superuser)
    await say(services, scope, 1)
    assert await archives(services, scope) == [(1, 2, "threshold"), (3, 7, "threshold")]


async def test_writers_at_once_make_one_commit(services: Services, scope: Scope) -> None:
    await session_with(services, scope, message_count_threshold=3)
    await asyncio.gather(*(say(services, scope, 1) for _ in range(12)))
    assert len(await archives(services, scope)) == 1


async def test_a_session_rests_between_two_commits(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await session_with(services, scope, message_count_threshold=1, min_commit_interval_seconds=3600)
    await say(services, scope, 2)
    finish_archives(superuser)
    await say(services, scope, 5)
    assert len(await archives(services, scope)) == 1
    superuser.execute("UPDATE cairn.sessions SET last_auto_commit_at = now() - interval '61 minutes'")
    await say(services, scope, 1)
    assert len(await archives(services, scope)) == 2


async def test_a_commit_that_fails_does_not_reach_the_writer(
    services: Services, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session_with(services, scope, message_count_threshold=1)
    monkeypatch.setattr(services.auto_commits, "_sealing", Sealing(max_attempts=0))  # the database refuses it
    await say(services, scope, 3)
    assert (await services.sessions.describe(scope, "talk")).session.live_count == 3
    assert await archives(services, scope) == []
    monkeypatch.undo()
    await say(services, scope, 1)
    assert await archives(services, scope) == [(1, 4, "threshold")]


async def test_a_session_that_keeps_turns_goes_on_keeping_them(services: Services, scope: Scope) -> None:
    await session_with(services, scope, message_count_threshold=2, keep_recent_count=9)
    await say(services, scope, 1)
    await services.commits.seal(scope, "talk", CommitOptions(Retention(0, TurnRetention(1, 1000))))
    await say(services, scope, 2, answered())
    await say(services, scope, 1)
    assert await archives(services, scope) == [(1, 3, "threshold")]
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.retention_mode, session.live_count) == ("turn_budget", 1)


async def test_a_session_without_a_policy_never_commits_itself(services: Services, scope: Scope) -> None:
    await tell(services, scope, "talk", *["word " * 100] * 300)
    assert await archives(services, scope) == []


async def test_new_sessions_may_have_a_policy_by_default(database_url: str) -> None:
    async with house(database_url, auto_commit=True) as services:
        scope = await somebody(services)
        await tell(services, scope, "by message", "hello")
        policies: list[Any] = [(await services.sessions.describe(scope, "by message")).session.auto_commit_policy]
        shown = await services.sessions.describe(scope, "by look", auto_create=True)
        policies.append(shown.session.auto_commit_policy)
    assert [policy["message_count_threshold"] for policy in policies] == [100, 100]


def let_time_pass(superuser: psycopg.Connection, hours: int) -> None:
    superuser.execute("UPDATE cairn.sessions SET last_message_at = last_message_at - make_interval(hours => %s),"
                      " active_hour = active_hour - make_interval(hours => %s)", [hours, hours])  # fmt: skip


async def test_a_silent_session_is_archived_whole_and_remembers_its_window(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await session_with(services, scope, idle_timeout_seconds=7200)
    await say(services, scope, 2)
    await services.commits.seal(scope, "talk", CommitOptions(Retention(2)))
    let_time_pass(superuser, 1)
    assert await services.auto_commits.commit_idle() == 0
    let_time_pass(superuser, 1)
    assert await services.auto_commits.commit_idle() == 1
    assert await archives(services, scope) == [(1, 2, "idle")]
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.keep_recent_count, session.live_count, session.pending_tokens) == (2, 0, 0)
    assert session.last_auto_commit_at is not None
    await say(services, scope, 3)
    assert (await services.sessions.describe(scope, "talk")).session.pending_tokens > 0
    assert superuser.execute("SELECT fault FROM cairn.check_sessions").fetchall() == []


async def test_a_sweep_finds_a_session_once_until_somebody_speaks_again(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await session_with(services, scope, idle_timeout_seconds=60)
    await say(services, scope, 1)
    await services.messages.append(scope, "talk", [calls("never answered")])
    let_time_pass(superuser, 1)
    assert await services.auto_commits.commit_idle() == 1
    finish_archives(superuser)
    assert [row.swept for row in superuser.execute("SELECT swept FROM cairn.sessions")] == [True]
    assert superuser.execute("SELECT * FROM cairn.idle_sessions(10)").fetchall() == []
    await say(services, scope, 1)
    let_time_pass(superuser, 1)
    assert await services.auto_commits.commit_idle() == 1
    assert await archives(services, scope) == [(1, 1, "idle"), (2, 3, "idle")]


async def test_sweeps_at_once_archive_a_session_once(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await session_with(services, scope, idle_timeout_seconds=60)
    await say(services, scope, 3)
    let_time_pass(superuser, 1)
    assert sum(await asyncio.gather(*(services.auto_commits.commit_idle() for _ in range(5)))) == 1
    assert await archives(services, scope) == [(1, 3, "idle")]


async def test_a_worker_commits_silent_sessions_of_all_tenants(
    database_url: str, superuser: psycopg.Connection
) -> None:
    async with house(database_url, idle_sweep_seconds=0.05) as services:
        for account in ("acme", "other"):
            scope = await somebody(services, account)
            await session_with(services, scope, idle_timeout_seconds=60)
            await say(services, scope, 1)
        let_time_pass(superuser, 1)

        async def done() -> bool:
            rows = superuser.execute("SELECT status FROM cairn.archives").fetchall()
            return [row.status for row in rows] == ["completed"] * 2

        async with working(services):
            await eventually(done, "the archives of both")


async def test_an_archive_that_is_not_remembered_hides_nothing_that_is(services: Services, scope: Scope) -> None:
    async with working(services):
        await tell(services, scope, "talk", "I prefer tea.")
        sealed = await services.commits.seal(scope, "talk")
        assert isinstance(sealed, Sealed)
        await ended(services, scope, sealed.task_id)
        await tell(services, scope, "talk", "This is between us.")
        secret = await services.commits.seal(scope, "talk", CommitOptions(working_memory=False))
        assert isinstance(secret, Sealed)
        task = await ended(services, scope, secret.task_id)
        assert (task.archive.status, task.archive.outcome) == ("completed", "nothing_to_remember")
        assert task.archive.finished_at is not None
        current = await services.working_memory.current(scope, "talk")
        assert current.document is not None
        assert current.document.archive_no == 1
        context = await services.context.assemble(scope, "talk", 100_000)
        assert context.fitted.messages == ()
        await tell(services, scope, "talk", "And now something else.")
        last = await services.commits.seal(scope, "talk")
        assert isinstance(last, Sealed)
        await ended(services, scope, last.task_id)


async def test_the_next_update_does_not_see_what_was_left_out(services: Services, scope: Scope, model: Any) -> None:
    await tell(services, scope, "talk", "This is between us.")
    await services.commits.seal(scope, "talk", CommitOptions(working_memory=False))
    await tell(services, scope, "talk", "This may be known.")
    sealed = await services.commits.seal(scope, "talk")
    assert isinstance(sealed, Sealed)
    async with working(services):
        await ended(services, scope, sealed.task_id)
    asked = repr(model.requests)
    assert "This may be known." in asked
    assert "This is between us." not in asked


async def test_a_session_may_say_that_nothing_of_it_is_remembered(services: Services, scope: Scope) -> None:
    await services.sessions.create(scope, "talk", memory_policy={"working_memory": False})
    await say(services, scope, 1)
    await services.commits.seal(scope, "talk")
    (archive,) = await services.archives.list_all(scope, "talk")
    assert (archive.working_memory.value, archive.status) == ("off", "completed")


async def test_an_archive_keeps_what_was_said_about_its_events(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await services.sessions.create(scope, "talk", memory_extraction_config={"events": {"tags": ["Team=Blue"]}})
    for extraction in (None, {"event": {"tags": ["a=1"]}}):
        await say(services, scope, 1)
        await services.commits.seal(scope, "talk", CommitOptions(extraction_metadata=extraction))
    rows = superuser.execute("SELECT extraction_metadata AS kept FROM cairn.archives ORDER BY archive_no").fetchall()
    assert [row.kept for row in rows] == [{"event": {"tags": ["team=blue"]}}, {"event": {"tags": ["a=1"]}}]
