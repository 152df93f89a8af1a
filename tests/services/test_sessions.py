"""Sessions are made, found, listed and deleted: whoever just writes to a deleted one leaves nothing behind."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.archives import Sealed
from app.domain.errors import AlreadyExists, Forbidden, InvalidInput, NotFound
from app.domain.scope import Scope
from app.storage.deletion import ERASED
from tests.support.conversations import said
from tests.support.every_table import fill_every_table
from tests.support.fake_model import FakeModel, Gate
from tests.support.house import commit, ended, somebody, tell, working
from tests.support.waiting import eventually

STAYS = {"model_calls"}
"""What was spent stays known after the conversation is erased; it holds no text."""


def naming_a_session(superuser: psycopg.Connection) -> set[str]:
    return {
        name
        for (name,) in superuser.execute(
            "SELECT table_name FROM information_schema.columns JOIN information_schema.tables"
            " USING (table_schema, table_name) WHERE table_schema = 'cairn' AND column_name = 'session_id'"
            " AND table_type = 'BASE TABLE'"
        )
    }


def test_every_table_that_names_a_session_goes_with_it(superuser: psycopg.Connection) -> None:
    assert {table.name for table in ERASED} == (naming_a_session(superuser) | {"sessions"}) - STAYS


async def test_a_deletion_leaves_nothing_and_its_receipt_says_what_went(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    session_id = fill_every_table(superuser, scope)
    receipt = await services.sessions.delete(scope, "talk")
    expected = {table.name for table in ERASED}
    assert set(receipt) == expected
    assert {"messages": 3, "working_memory_sections": 7, "sessions": 1, "jobs": 1}.items() <= receipt.items()
    assert all(receipt.values()), receipt
    for table in naming_a_session(superuser) - STAYS:
        left = superuser.execute(f"SELECT count(*) FROM cairn.{table} WHERE session_id = %s", [session_id])
        assert left.fetchone() == (0,), table


async def test_a_deleted_session_is_unknown_and_its_name_begins_anew(services: Services, scope: Scope) -> None:
    await commit(services, scope, "talk", "one", "two")
    await services.sessions.delete(scope, "talk")
    with pytest.raises(NotFound, match="Session not found: talk"):
        await services.sessions.delete(scope, "talk")
    assert (await services.messages.append(scope, "talk", [said("new")])).seqs == (1,)
    assert await services.archives.list_all(scope, "talk") == []


async def test_a_job_whose_model_hangs_is_let_go_and_writes_nothing(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    gate = Gate()
    model.turns.append(gate)
    async with working(services) as worker:
        await commit(services, scope, "talk", "hello")
        await gate.reached.wait()
        receipt = await services.sessions.delete(scope, "talk")
        assert (receipt["jobs"], receipt["archives"]) == (1, 1)

        async def idle() -> bool:
            return not worker._held

        await eventually(idle, "the end of the job while its model still hangs", 5)
        await ended(services, scope, await commit(services, scope, "talk", "again"))
    assert superuser.execute("SELECT name, last_seq, archive_count FROM cairn.sessions").fetchall() == [("talk", 1, 1)]
    assert superuser.execute("SELECT count(*) FROM cairn.model_answers").fetchone() == (1,)
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def storm(services: Services, scope: Scope, rounds: int) -> tuple[int, Counter[str]]:
    """Append, commit and delete one session at once, again and again; return what was acknowledged and what went."""
    acknowledged = 0
    gone: Counter[str] = Counter()

    async def append() -> None:
        nonlocal acknowledged
        appended = await services.messages.append(scope, "talk", [said("a"), said("b")])
        acknowledged += appended.added

    async def seal() -> None:
        await services.commits.seal(scope, "talk")

    async def delete() -> None:
        gone.update(await services.sessions.delete(scope, "talk"))

    async def often(act: Callable[[], Awaitable[None]]) -> None:
        for _ in range(rounds):
            with suppress(NotFound):
                await act()

    await asyncio.gather(*(often(act) for act in (append, append, seal, delete, delete)))
    return acknowledged, gone


async def test_whoever_writes_during_a_deletion_leaves_no_orphans(
    services: Services, scope: Scope, superuser: psycopg.Connection, repetition: int
) -> None:
    await tell(services, scope, "talk", "zero")
    async with working(services):
        acknowledged, gone = await storm(services, scope, 40)
        last = await commit(services, scope, "talk", "last")
        await ended(services, scope, last)
    left = superuser.execute("SELECT count(*) FROM cairn.messages").fetchone()
    assert gone["messages"] + left[0] == acknowledged + 2
    assert gone["sessions"] >= 1
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def test_a_deletion_waits_for_an_apply_and_takes_its_document_along(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await commit(services, scope, "talk", "hello")
    (archive,) = await services.archives.list_all(scope, "talk")
    with superuser.transaction():
        superuser.execute(
            "SELECT FROM cairn.archives WHERE account_id = %s AND session_id = %s FOR UPDATE",
            [scope.account_id, archive.session_id],
        )
        deleting = asyncio.create_task(services.sessions.delete(scope, "talk"))

        async def waits() -> bool:
            return superuser.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() != (0,)

        await eventually(waits, "a deletion that waits for the archive")
        superuser.execute(
            "INSERT INTO cairn.working_memory_deferred (account_id, session_id, section, item, reason, archive_no)"
            " VALUES (%s, %s, 4, 'late', 'throttled', 1)",
            [scope.account_id, archive.session_id],
        )
    assert (await deleting)["working_memory_deferred"] == 1


@pytest.mark.faults
async def test_two_hundred_thousand_messages_are_deleted_at_once(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await tell(services, scope, "talk", "one")
    superuser.execute("""
        INSERT INTO cairn.messages (account_id, session_id, seq, role, parts, tokens, tokens_through, reply_live,
                                    reply_pending, said_at, stored_at)
          SELECT account_id, session_id, n, role, parts, 1, n, n, n, said_at, stored_at
            FROM cairn.messages, generate_series(2, 200000) n
    """)
    superuser.execute("UPDATE cairn.sessions SET last_seq = 200000, last_tokens = 200000")
    assert isinstance(await services.commits.seal(scope, "talk"), Sealed)
    receipt = await services.sessions.delete(scope, "talk")
    assert (receipt["messages"], receipt["archives"], receipt["jobs"]) == (200_000, 1, 1)
    assert superuser.execute("SELECT count(*) FROM cairn.messages").fetchone() == (0,)


async def test_a_session_is_made_once_under_the_name_it_was_given(services: Services, scope: Scope) -> None:
    made = await services.sessions.create(scope, "talk", auto_commit_policy={"pending_tokens": 100})
    assert (made.name, made.last_seq, made.auto_commit_policy) == ("talk", 0, {"pending_tokens": 100})
    with pytest.raises(AlreadyExists):
        await services.sessions.create(scope, "talk")
    assert (await services.sessions.create(scope)).name != (await services.sessions.create(scope)).name


@pytest.mark.parametrize(("name", "kind"), [("a/b", InvalidInput), ("", InvalidInput), ("..", Forbidden)])
async def test_a_name_that_cannot_be_makes_nothing(
    services: Services, scope: Scope, superuser: psycopg.Connection, name: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await services.sessions.create(scope, name)
    with pytest.raises(kind):
        await tell(services, scope, name, "hello")
    assert superuser.execute("SELECT count(*) FROM cairn.sessions").fetchone() == (0,)


async def test_the_session_that_spoke_last_is_listed_first(services: Services, scope: Scope) -> None:
    for name in ("first", "second", "third"):
        await tell(services, scope, name, "hello")
    await tell(services, scope, "first", "again")
    assert [session.name for session in await services.sessions.list_recent(scope)] == ["first", "third", "second"]
    assert len(await services.sessions.list_recent(scope, limit=2)) == 2


async def test_a_session_is_described_with_what_its_models_cost(services: Services, scope: Scope) -> None:
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one"))
        await ended(services, scope, await commit(services, scope, "talk", "two"))
    details = await services.sessions.describe(scope, "talk")
    assert (details.spent.prompt, details.spent.completion) == (200, 40)
    assert (details.session.archive_count, details.session.live_count) == (2, 0)


async def test_a_session_that_is_not_there_is_made_only_on_request(services: Services, scope: Scope) -> None:
    with pytest.raises(NotFound):
        await services.sessions.describe(scope, "talk")
    made = await asyncio.gather(*(services.sessions.describe(scope, "talk", auto_create=True) for _ in range(5)))
    assert len({details.session.id for details in made}) == 1


async def test_sessions_of_another_user_are_not_there(services: Services, scope: Scope) -> None:
    task_id = await commit(services, scope, "talk", "hello")
    for stranger in (await somebody(services, "acme", "bob"), await somebody(services, "umbrella", "ann")):
        for call in (
            services.sessions.describe(stranger, "talk"),
            services.sessions.delete(stranger, "talk"),
            services.commits.seal(stranger, "talk"),
            services.context.assemble(stranger, "talk", 1_000),
            services.archives.list_all(stranger, "talk"),
            services.archives.get(stranger, "talk", "archive_001"),
            services.working_memory.current(stranger, "talk"),
            services.tasks.get(stranger, str(task_id)),
            services.tasks.cancel(stranger, str(task_id)),
        ):
            with pytest.raises(NotFound):
                await call
        assert list(await services.sessions.list_recent(stranger)) == []
        assert list(await services.tasks.list_recent(stranger)) == []
