"""The two doors to the database: whose rows they show, what they undo, and what their errors say."""

import asyncio

import psycopg
import pytest
import sqlalchemy as sa

from app.domain.errors import PreconditionFailed, Unavailable
from app.domain.scope import Scope
from app.storage import sessions
from app.storage.transaction import Database, NestedTransaction, transaction_open
from tests.storage.conftest import user_of
from tests.support.sealing import append

ACCOUNT = sa.text("SELECT cairn.current_account(), current_user")


async def create_and_fail(database: Database, scope: Scope, name: str) -> None:
    async with database.transaction(scope) as tx:
        assert await sessions.create(tx, scope, name)
        raise ZeroDivisionError


async def execute(database: Database, scope: Scope, *statements: str) -> None:
    async with database.transaction(scope) as tx:
        for statement in statements:
            await tx.execute(sa.text(statement))


async def test_a_transaction_shows_the_rows_of_its_tenant_and_forgets_it_afterwards(
    database: Database, scope: Scope
) -> None:
    async with database.transaction(scope) as tx:
        assert (await tx.execute(ACCOUNT)).one()[0] == scope.account_id
    async with database.transaction(None) as tx:
        assert (await tx.execute(ACCOUNT)).one()[0] is None
    await append(database, scope, "talk", [1])
    async with database.statement(None) as statement:
        assert await statement.rows("SELECT cairn.current_account()") == [(None,)]


async def test_what_failed_is_undone_and_what_was_left_in_peace_is_durable(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    async with database.transaction(scope) as tx:
        assert await sessions.create(tx, scope, "kept")
    with pytest.raises(ZeroDivisionError):
        await create_and_fail(database, scope, "lost")
    assert superuser.execute("SELECT name FROM cairn.sessions").fetchall() == [("kept",)]
    assert not transaction_open()


async def test_doors_do_not_nest(database: Database, scope: Scope) -> None:
    async with database.transaction(scope):
        assert transaction_open()
        with pytest.raises(NestedTransaction):
            async with database.statement(scope):
                pass
        with pytest.raises(NestedTransaction):
            async with database.transaction(scope):
                pass
    assert not transaction_open()


async def test_tasks_of_their_own_may_each_open_a_door(database: Database, scope: Scope) -> None:
    replies = await asyncio.gather(*(append(database, scope, "talk", [1]) for _ in range(5)))
    assert sorted(reply.seqs[0] for reply in replies) == [1, 2, 3, 4, 5]


async def test_a_snapshot_is_one_picture_and_writes_nothing(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await append(database, scope, "talk", [1])
    async with database.transaction(scope, snapshot=True) as tx:
        before = await sessions.get(tx, scope, "talk")
        superuser.execute("UPDATE cairn.sessions SET keep_recent_count = 7")
        assert await sessions.get(tx, scope, "talk") == before
    with pytest.raises((Unavailable, sa.exc.InternalError)):
        async with database.transaction(scope, snapshot=True) as tx:
            await sessions.create(tx, scope, "new")


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (["SET LOCAL statement_timeout = '20ms'", "SELECT pg_sleep(5)"], "too long"),
        (["SELECT pg_terminate_backend(pg_backend_pid())"], "cannot be reached"),
        (["DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"], "send the request again"),
        (["DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$"], "waited for each other"),
        (["DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '55P03'; END $$"], "locked by another"),
        (["DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53300'; END $$"], "no more connections"),
    ],
)
async def test_a_busy_or_lost_database_says_try_again_and_the_next_call_works(
    database: Database, scope: Scope, failure: list[str], words: str
) -> None:
    with pytest.raises(Unavailable, match=words) as raised:
        await execute(database, scope, *failure)
    assert raised.value.retry_after_seconds
    assert (await append(database, scope, "talk", [1])).seqs == (1,)


async def test_a_bug_in_a_statement_stays_what_it_is(database: Database, scope: Scope) -> None:
    with pytest.raises(sa.exc.ProgrammingError):
        await execute(database, scope, "SELECT no_such_column")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        async with database.statement(scope) as statement:
            await statement.rows("SELECT cairn.no_such_function(%s)")


async def test_a_login_that_sees_everything_works_as_the_application(
    database: Database, scope: Scope, superuser_url: str
) -> None:
    await append(database, scope, "talk", [1])
    opened = await Database.open(superuser_url, pool_size=1)
    async with opened.transaction(None) as tx:
        assert (await tx.execute(ACCOUNT)).one() == (None, "cairn_app")
        assert (await tx.execute(sa.text("SELECT count(*) FROM cairn.sessions"))).scalar_one() == 0
    async with opened.statement(None) as statement:
        assert await statement.rows("SELECT current_user") == [("cairn_app",)]
    await opened.close()


async def test_a_login_that_cannot_be_held_by_the_policies_is_refused(superuser_url: str, owner_url: str) -> None:
    with pytest.raises(PreconditionFailed, match="no member of cairn_app"):
        await Database.open(owner_url, pool_size=1)
    with pytest.raises(PreconditionFailed, match="a pooler stands before it"):
        await Database.open(superuser_url, pool_size=1, direct_dsn=superuser_url)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await Database.open("postgresql://nobody@127.0.0.1:1/nowhere?connect_timeout=2")


async def test_notifications_come_by_the_names_of_their_channels(
    database: Database, superuser: psycopg.Connection
) -> None:
    async with database.notifications("cairn_jobs", "cairn_cancel") as channels:
        superuser.execute("NOTIFY cairn_cancel")
        superuser.execute("NOTIFY cairn_jobs")
        assert [await anext(channels), await anext(channels)] == ["cairn_cancel", "cairn_jobs"]


async def test_a_listener_that_is_cut_off_is_told_so(database: Database, superuser: psycopg.Connection) -> None:
    async def listen_until_cut_off() -> None:
        async with database.notifications("cairn_jobs") as channels:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'cairn-listen' AND datname = current_database()"
            )
            await anext(channels)

    with pytest.raises(Unavailable):
        await listen_until_cut_off()


async def test_an_account_never_shows_in_the_connection_of_another(database: Database, scope: Scope) -> None:
    """Connections are shared; the tenant must leave with the transaction, also when that failed."""
    theirs = await user_of(database, "umbrella", "uma")
    narrow = await Database.open(database._direct_dsn, pool_size=1)
    await append(narrow, scope, "mine", [1])
    with pytest.raises(ZeroDivisionError):
        await create_and_fail(narrow, scope, "other")
    async with narrow.transaction(theirs) as tx:
        assert (await tx.execute(sa.text("SELECT count(*) FROM cairn.sessions"))).scalar_one() == 0
    await narrow.close()


async def test_connections_that_the_server_closed_while_they_lay_idle_fail_nobody(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await asyncio.gather(*(append(database, scope, "talk", [1]) for _ in range(8)))
    superuser.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                      " WHERE datname = current_database() AND application_name = 'cairn'")  # fmt: skip
    for n in range(9, 30):
        assert (await append(database, scope, "talk", [1])).seqs == (n,)
        async with database.transaction(scope) as tx:
            assert await sessions.get(tx, scope, "talk") is not None
