"""The hot statements touch no row but those they are about, under the policies, however large the neighbours are."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from typing import TypeAlias

import psycopg
import pytest

from app.domain.context.coverage import Uncovered
from app.domain.context.fitting import Conversation
from app.domain.documents import BaseDocument
from app.domain.retention import Retention
from app.domain.scope import Scope
from app.storage import archives, context, jobs, messages, sessions, working_memory
from app.storage.jobs import StepEnd
from app.storage.transaction import Database, Transaction
from tests.support.conversations import calls, results, said
from tests.support.database import LOGINS
from tests.support.many_sessions import Target, fill_database
from tests.support.query_plans import Plans, Read, reporting_plans
from tests.support.waiting import eventually

APP_LOGIN = next(iter(LOGINS))
KEYS = {
    "accounts": [{"id"}],
    "users": [{"account_id", "id"}],
    "sessions": [{"account_id", "id"}, {"account_id", "user_id", "name"}],
    "messages": [{"account_id", "session_id"}],
    "tool_calls": [{"account_id", "session_id"}],
    "archives": [{"account_id", "session_id"}],
    "working_memory_sections": [{"account_id", "session_id", "archive_no"}],
    "working_memory_deferred": [{"account_id", "session_id"}],
    "jobs": [{"account_id", "id"}, {"account_id", "order_key"}, {"account_id", "mutex_key"},
             {"account_id", "session_id", "archive_no"}],
}  # fmt: skip
"""By which columns a table may be read; under row-level security a filter instead would read the whole table."""

Hot: TypeAlias = Callable[[Transaction, Scope, Target], Awaitable[object]]


@pytest.fixture
def target(superuser: psycopg.Connection) -> Target:
    return fill_database(superuser)


@pytest.fixture
def reader(target: Target) -> Scope:
    return Scope(target.account_id, target.user_id, "account-2", "user-2")


@pytest.fixture(params=["force_custom_plan", "force_generic_plan"])
def reporting(request: pytest.FixtureRequest, superuser: psycopg.Connection) -> Iterator[None]:
    """Plans are looked at both ways: made for these values, and made for any values."""
    with reporting_plans(superuser, APP_LOGIN, plan_cache_mode=request.param):
        yield


@pytest.fixture
async def watched(reporting: None, database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, pool_size=1)
    yield opened
    await opened.close()


def strangers(reads: list[Read]) -> list[Read]:
    """Return the reads that are not by the key of what they are about; the few running jobs may be looked through."""
    return [
        read
        for read in reads
        if read.node != "Bitmap Heap Scan" and read.relation in KEYS and read.index != "jobs_running"
        and not any(keys <= columns_in(read.condition) for keys in KEYS[read.relation])
    ]  # fmt: skip


def columns_in(condition: str) -> set[str]:
    return set(re.findall(r"\b(?:\w+\.)?(\w+) (?:=|>|<|>=|<=|IS) ", condition)) | set(
        re.findall(r"\((\w+) = ANY", condition)
    )


async def driver(tx: Transaction) -> psycopg.AsyncConnection:
    return (await tx.get_raw_connection()).driver_connection


def wasted(reads: list[Read], at_most: int) -> list[Read]:
    return [read for read in reads if read.rows + read.removed > at_most]


APPENDS = {
    "one message": [said("a")],
    "one message with an id": [said("a", client_id="new")],
    "a repeat": [said("x", client_id="id-300")],
    "a tool call": [calls("tool-new")],
    "a tool result": [results("tool-599")],
    "old and new in one batch": [said("a", client_id="new"), said("b"), calls("t"), results("t")],
}


async def test_an_append_reads_a_handful_of_rows(
    watched: Database, superuser: psycopg.Connection, target: Target, reader: Scope
) -> None:
    superuser.execute("UPDATE cairn.messages SET body_sha256 = %s WHERE client_message_id = 'id-300'",
                      [messages.body_sha256(said("x", client_id="id-300"))])  # fmt: skip
    for keep in (0, 10):
        superuser.execute("UPDATE cairn.sessions SET keep_recent_count = %s WHERE id = %s", [keep, target.session_id])
        for name, batch in APPENDS.items():
            plans = Plans()
            async with watched.statement(reader) as statement, plans.of(statement._connection):
                await messages.append(statement, reader, target.name, batch, [1] * len(batch))
            assert {read.relation for read in plans.reads} >= {"sessions"}, name
            assert strangers(plans.reads) == [], name
            assert wasted(plans.reads, at_most=4) == [], name


async def test_an_append_that_keeps_turns_reads_what_its_budget_holds(
    watched: Database, superuser: psycopg.Connection, target: Target, reader: Scope
) -> None:
    superuser.execute("UPDATE cairn.messages SET opens = CASE seq % 20 WHEN 1 THEN 'turn' ELSE 'step' END")
    superuser.execute("UPDATE cairn.sessions SET retention_mode = 'turn_budget', retained_message_token_budget = 300,"
                      " auto_commit_policy = '{}', last_user_seq = 581 WHERE id = %s", [target.session_id])  # fmt: skip
    plans = Plans()
    async with watched.statement(reader) as statement, plans.of(statement._connection):
        await messages.append(statement, reader, target.name, [said("a")], [1])
    assert strangers(plans.reads) == []
    assert 20 <= max(read.rows for read in plans.reads if read.relation == "messages") <= 60
    assert wasted(plans.reads, at_most=60) == []


async def seal(tx: Transaction, scope: Scope, target: Target) -> None:
    session = await sessions.lock(tx, scope, target.name)
    assert session is not None
    assert await archives.torn_tool_calls(tx, scope, session.id, 589) == []
    await archives.seal(tx, scope, session.id, 589, retention=Retention(10), max_attempts=5)


async def find_torn_pairs(tx: Transaction, scope: Scope, target: Target) -> None:
    assert len(await archives.torn_tool_calls(tx, scope, target.session_id, 599)) == 1


async def read_context(tx: Transaction, scope: Scope, target: Target, *, budget: int) -> Conversation:
    session = await sessions.get(tx, scope, target.name)
    assert session is not None
    return await context.conversation(tx, scope, session, Uncovered((range(101, 601),)), budget=budget)


HOT: dict[str, tuple[Hot, int]] = {
    "get a session": (lambda tx, scope, t: sessions.get(tx, scope, t.name), 1),
    "lock a session": (lambda tx, scope, t: sessions.lock(tx, scope, t.name), 1),
    "find torn pairs": (find_torn_pairs, 3),
    "read an archive": (lambda tx, scope, t: archives.get(tx, scope, t.session_id, 2), 2),
    "read its messages": (lambda tx, scope, t: messages.list_range(tx, scope, t.session_id, 101, 200), 100),
    "find the base document": (lambda tx, scope, t: working_memory.base_document(tx, scope, t.session_id), 2),
    "read the document": (
        lambda tx, scope, t: working_memory.get(tx, scope, t.session_id, BaseDocument(1, 0, 100)), 7,
    ),
    "read the items that wait": (lambda tx, scope, t: working_memory.waiting_items(tx, scope, t.session_id), 2),
    "count the archives": (lambda tx, scope, t: context.archive_counts(tx, scope, t.session_id), 2),
    "read the context": (lambda tx, scope, t: read_context(tx, scope, t, budget=300), 40),
    "seal": (seal, 4),
}  # fmt: skip


async def test_a_hot_statement_reads_its_own_session_only(watched: Database, target: Target, reader: Scope) -> None:
    for name, (call, most_rows) in HOT.items():
        plans = Plans()
        async with watched.transaction(reader) as tx, plans.of(await driver(tx)):
            await call(tx, reader, target)
        assert plans.reads, name
        assert strangers(plans.reads) == [], name
        assert wasted(plans.reads, most_rows) == [], name


async def test_a_context_is_read_from_the_newest_message_back(
    watched: Database, superuser: psycopg.Connection, target: Target, reader: Scope
) -> None:
    superuser.execute("UPDATE cairn.messages SET opens = 'step' WHERE seq > 140")
    superuser.execute("UPDATE cairn.tool_calls SET result_seq = 598 WHERE call_seq = 200")
    plans = Plans()
    async with watched.transaction(reader) as tx, plans.of(await driver(tx)):
        read = await read_context(tx, reader, target, budget=300)
    assert [message.seq for message in read.messages] == [140, 200, *range(563, 601)]
    assert read.total == 500
    reads = [(one.rows, one.removed) for one in plans.reads if one.relation == "messages"]
    assert max(rows for rows, _ in reads) == 37
    assert strangers(plans.reads) == []


async def test_a_claim_reads_the_job_it_takes(watched: Database, target: Target) -> None:
    plans = Plans()
    async with watched.statement(None) as statement, plans.of(statement._connection):
        (job,) = await jobs.claim(statement, "w", ["working_memory"], limit=1, lease=timedelta(minutes=1))
    assert job.attempt == 1
    assert "jobs_ready" in {read.index for read in plans.reads}
    assert {read.node for read in plans.reads} <= {"Index Scan", "Index Only Scan"}
    assert wasted(plans.reads, at_most=1) == []


async def test_ending_a_step_reads_its_archive_and_its_lane(
    watched: Database, superuser: psycopg.Connection, target: Target
) -> None:
    superuser.execute("UPDATE cairn.archives SET working_memory = 'open' WHERE archive_no = 2")
    superuser.execute("DELETE FROM cairn.jobs WHERE archive_no = 2")
    superuser.execute("UPDATE cairn.jobs SET archive_no = 2 WHERE state = 'ready'")
    plans = Plans()
    async with watched.statement(None) as statement:
        (job,) = await jobs.claim(statement, "w", ["working_memory"], limit=1, lease=timedelta(minutes=1))
    async with watched.transaction(job) as tx, plans.of(await driver(tx)):
        assert await jobs.finish_step(tx, job, job, StepEnd("applied", base=BaseDocument(1, 0, 4)))
    assert strangers(plans.reads) == []
    assert wasted(plans.reads, at_most=2) == []


async def test_appends_to_one_session_update_its_row_in_place(
    database_url: str, superuser: psycopg.Connection, scope: Scope
) -> None:
    """A heap-only update writes no index; one index on a counter would end that."""
    appends = 400

    def updates() -> tuple[int, int]:
        superuser.execute("SELECT pg_stat_clear_snapshot()")
        return superuser.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'sessions'"
        ).fetchone()

    before, before_hot = updates()
    own = await Database.open(database_url, pool_size=1)
    async with own.statement(scope) as statement:
        for _ in range(appends):
            await messages.append(statement, scope, "hot", [said("x")], [1])
    await own.close()  # a connection that ends hands its figures in

    async def counted() -> bool:
        return updates()[0] - before >= appends

    await eventually(counted, "the figures of the appends")
    after, after_hot = updates()
    assert after - before == appends
    assert after_hot - before_hot >= 0.98 * appends
