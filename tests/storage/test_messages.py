"""Appending: order, repeats, refusals; one round trip, all or nothing."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from app.domain.errors import Conflict, NotFound
from app.domain.messages import MessageRole, NewMessage, StoredMessage
from app.domain.scope import Scope
from app.storage import messages, sessions
from app.storage.transaction import Database
from tests.storage.conftest import user_of
from tests.support.conversations import calls, results, said
from tests.support.sealing import append, remember_window


async def test_messages_come_back_as_they_were_given(database: Database, scope: Scope) -> None:
    given = NewMessage(
        MessageRole.TOOL,
        ({"type": "text", "text": "行末\u2028 ok 🙂"}, {"type": "later", "deep": {"a": [1, None, "ü"]}}),
        peer_id="robot",
        origin="injected",
        attributes={"turn_id": "t-1"},
    )
    await append(database, scope, "talk", [3, 4], [said("first"), given])
    first, second = await read(database, scope, 1, 2)
    assert (first.seq, first.tokens, first.attributes, first.origin) == (1, 3, {}, "client")
    assert (second.role, second.parts, second.peer_id) == (given.role, given.parts, "robot")
    assert (second.origin, second.attributes) == ("injected", {"turn_id": "t-1"})


async def test_a_message_is_never_older_than_the_one_before_it(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await asyncio.gather(*(append(database, scope, "talk", [1]) for _ in range(40)))
    times = [row.stored_at for row in superuser.execute("SELECT stored_at FROM cairn.messages ORDER BY seq")]
    assert times == sorted(times)
    assert times[-1] - times[0] > timedelta(0)


async def test_a_session_that_must_exist_is_not_made(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    async with database.statement(scope) as statement:
        with pytest.raises(NotFound, match="Session not found: talk"):
            await messages.append(statement, scope, "talk", [said()], [1], create_session=False)
    assert count(superuser, "sessions") == 0


async def test_twenty_five_first_writers_make_one_session(
    database: Database, scope: Scope, superuser: psycopg.Connection, repetition: int
) -> None:
    replies = await asyncio.gather(*(append(database, scope, "new", [1]) for _ in range(25)))
    assert sorted(seq for reply in replies for seq in reply.seqs) == list(range(1, 26))
    assert count(superuser, "sessions") == 1


async def test_two_users_may_give_their_sessions_one_name(database: Database, scope: Scope) -> None:
    bob = await user_of(database, "acme", "bob")
    assert (await append(database, scope, "talk", [1])).seqs == (1,)
    assert (await append(database, bob, "talk", [1])).seqs == (1,)


async def test_a_pure_repeat_writes_nothing_and_is_answered_as_the_first_time(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await remember_window(database, scope, "talk", 1)
    batch = [said("one", client_id="a"), said("two", client_id="b")]
    first = await append(database, scope, "talk", [10, 20], batch)
    await append(database, scope, "talk", [40, 80])
    before = superuser.execute("SELECT xmin::text, * FROM cairn.sessions").fetchall()
    again = await append(database, scope, "talk", [10, 20], batch)
    assert (again.seqs, again.live_count, again.pending_tokens) == (first.seqs, 2, 10)
    assert again.added == 0
    assert superuser.execute("SELECT xmin::text, * FROM cairn.sessions").fetchall() == before


async def test_a_repeat_in_another_order_is_answered_in_that_order(database: Database, scope: Scope) -> None:
    await append(database, scope, "talk", [1, 2], [said("one", client_id="a"), said("two", client_id="b")])
    again = await append(database, scope, "talk", [2, 1], [said("two", client_id="b"), said("one", client_id="a")])
    assert again.seqs == (2, 1)


async def test_of_a_mixed_batch_only_the_new_messages_are_stored(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await append(database, scope, "talk", [1], [said("old", client_id="a")])
    batch = [said("new", client_id="b"), said("old", client_id="a"), said("no id"), said("newer", client_id="c")]
    mixed = await append(database, scope, "talk", [10, 1, 20, 40], batch)
    assert (mixed.seqs, mixed.added, mixed.live_count, mixed.pending_tokens) == ((2, 1, 3, 4), 3, 4, 71)
    texts = superuser.execute("SELECT parts -> 0 ->> 'text' AS text FROM cairn.messages ORDER BY seq")
    assert [row.text for row in texts] == ["old", "new", "no id", "newer"]


@pytest.mark.parametrize("company", [[], [said("innocent", client_id="b")], [said("no id")]])
async def test_the_same_id_with_another_body_stores_nothing(
    database: Database, scope: Scope, superuser: psycopg.Connection, company: list[NewMessage]
) -> None:
    await append(database, scope, "talk", [1], [said("first", client_id="a")])
    batch = [*company, said("other", client_id="a")]
    with pytest.raises(Conflict) as refused:
        await append(database, scope, "talk", [1] * len(batch), batch)
    assert refused.value.details["field"] == "client_message_id"
    assert count(superuser, "messages") == 1


async def test_an_id_that_stands_twice_in_one_batch_is_one_message(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    batch = [said("x", client_id="a"), said("y", client_id="b"), said("x", client_id="a")]
    reply = await append(database, scope, "talk", [1, 2, 1], batch)
    assert (reply.seqs, reply.added, reply.pending_tokens) == ((1, 2, 1), 2, 3)
    again = await append(database, scope, "talk", [1, 2, 1], batch)
    assert (again.seqs, again.added, again.pending_tokens) == ((1, 2, 1), 0, 3)
    assert count(superuser, "messages") == 2


@pytest.mark.parametrize("known", [False, True])
async def test_an_id_that_stands_twice_in_one_batch_with_two_bodies_stores_nothing(
    database: Database, scope: Scope, superuser: psycopg.Connection, known: bool
) -> None:
    if known:
        await append(database, scope, "talk", [1], [said("x", client_id="a")])
    with pytest.raises(Conflict):
        await append(database, scope, "talk", [1, 1], [said("x", client_id="a"), said("other", client_id="a")])
    assert count(superuser, "messages") == int(known)


async def test_twenty_five_repeats_at_once_are_one_message(
    database: Database, scope: Scope, superuser: psycopg.Connection, repetition: int
) -> None:
    replies = await asyncio.gather(
        *(append(database, scope, "talk", [7], [said("x", client_id="a")]) for _ in range(25))
    )
    assert {(r.seqs, r.live_count, r.pending_tokens) for r in replies} == {((1,), 1, 7)}
    assert sum(reply.added for reply in replies) == count(superuser, "messages") == 1


async def test_ids_of_one_session_mean_nothing_in_another(database: Database, scope: Scope) -> None:
    await append(database, scope, "talk", [1], [said("x", client_id="a")])
    assert (await append(database, scope, "chat", [1], [said("other", client_id="a")])).added == 1


async def test_a_result_answers_the_oldest_call_of_its_id_that_waits(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    await append(database, scope, "talk", [1] * 4, [calls("a"), calls("a", "b"), results("a"), results("a", "b")])
    await append(database, scope, "talk", [1], [results("a", "nobody-asked")])
    pairs = superuser.execute("SELECT call_seq, tool_id, result_seq FROM cairn.tool_calls ORDER BY 1, 2").fetchall()
    assert pairs == [(1, "a", 3), (2, "a", 4), (2, "b", 4)]


async def test_repeating_a_tool_result_does_not_answer_a_later_call(
    database: Database, scope: Scope, superuser: psycopg.Connection
) -> None:
    answer = NewMessage(MessageRole.USER, results("a").parts, client_message_id="r1")
    await append(database, scope, "talk", [1, 1, 1], [calls("a"), answer, calls("a")])
    await append(database, scope, "talk", [1], [answer])
    waiting = superuser.execute("SELECT call_seq FROM cairn.tool_calls WHERE result_seq IS NULL").fetchall()
    assert waiting == [(3,)]


async def test_numbers_of_any_size_survive_in_parts(database: Database, scope: Scope) -> None:
    part = {"type": "tool", "tool_input": {"big": 123456789012345678901234567890, "exact": 9007199254740993}}
    await append(database, scope, "talk", [1], [NewMessage(MessageRole.ASSISTANT, (part,))])
    (stored,) = await read(database, scope, 1, 1)
    assert stored.parts == (part,)


def count(superuser: psycopg.Connection, table: str) -> int:
    (row,) = superuser.execute(
        psycopg.sql.SQL("SELECT count(*) FROM {}").format(psycopg.sql.Identifier("cairn", table))
    )
    return int(row[0])


async def read(database: Database, scope: Scope, first: int, last: int) -> list[StoredMessage]:
    async with database.transaction(scope, snapshot=True) as tx:
        session = await sessions.get(tx, scope, "talk")
        assert session is not None
        return await messages.list_range(tx, scope, session.id, first, last)
