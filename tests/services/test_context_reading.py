"""Contexts are read from the newest message back, and come out as if the whole session had been read."""

import json
import random
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.context.fitting import Conversation, fit_context
from app.domain.errors import InvalidInput, NotFound
from app.domain.messages import MessageRole, NewMessage, StoredMessage, countable_text
from app.domain.scope import Scope
from app.storage import context as storage_context
from app.storage import messages, sessions
from app.storage.messages import stored_message
from tests.support.conversations import answered, calls, results, said
from tests.support.house import tell
from tests.support.stored import tool_pairs

TALK = "talk"
MANY = """
    WITH s AS (SELECT account_id, id, last_tokens FROM cairn.sessions),
         m AS (INSERT INTO cairn.messages (account_id, session_id, seq, role, opens, parts, tokens, tokens_through,
                                           reply_live, reply_pending, said_at, stored_at)
               SELECT account_id, id, n + 1, CASE WHEN n %% 2 = 0 THEN 'user' ELSE 'assistant' END,
                      CASE WHEN n %% 2 = 0 THEN 'turn' ELSE 'step' END,
                      jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('word ', 40))), 41,
                      last_tokens + 41 * n, n, 0, now(), now()
                 FROM s, generate_series(1, %s) n RETURNING seq, tokens_through)
    UPDATE cairn.sessions SET last_seq = (SELECT max(seq) FROM m), last_tokens = (SELECT max(tokens_through) FROM m)
"""


def conversation(seed: int, turns: int) -> list[NewMessage]:
    """A conversation with calls that are answered at once, late, in a later turn, or never."""
    chance = random.Random(seed)
    said_so_far, waiting = [], []
    for turn in range(turns):
        said_so_far.append(said(f"question {turn} " + "why " * chance.randrange(30)))
        for step in range(chance.randrange(6)):
            tool_id = f"t{turn}.{step}"
            said_so_far.append(calls(tool_id) if chance.random() < 0.7 else answered("so " * chance.randrange(60)))
            if said_so_far[-1].parts[0]["type"] == "tool":
                waiting.append(tool_id)
            while waiting and chance.random() < 0.6:
                said_so_far.append(results(waiting.pop(chance.randrange(len(waiting)))))
    return said_so_far


async def store(services: Services, scope: Scope, said_so_far: list[NewMessage]) -> None:
    for start in range(0, len(said_so_far), 100):
        await services.messages.append(scope, TALK, said_so_far[start : start + 100])


@pytest.mark.parametrize("seed", range(3))
async def test_a_bounded_read_shows_what_a_full_one_would(
    services: Services, scope: Scope, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_context, "SMALLEST_PAGE", 3)
    said_so_far = conversation(seed, turns=40)
    await store(services, scope, said_so_far)
    async with services.database.transaction(scope) as tx:
        session = await sessions.get(tx, scope, TALK)
        every = await messages.list_range(tx, scope, session.id, 1, session.last_seq)
    full = Conversation(every, len(every), tool_pairs(said_so_far))
    total = sum(message.tokens for message in every)
    for budget in (0, 1, 5, 20, 60, 150, 400, 900, 2000, total - 1, total, total + 1):
        expected = fit_context(None, full, budget=budget, count_tokens=services.count_tokens)
        shown = (await services.context.assemble(scope, TALK, budget)).fitted
        assert [m.seq for m in shown.messages] == [m.seq for m in expected.messages], budget
        assert shown == expected


async def test_a_small_budget_reads_little_of_a_long_session(
    services: Services, scope: Scope, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(services, scope, TALK, "first")
    superuser.execute(MANY, [20_000])
    read = []

    def noted(row: Mapping[Any, Any]) -> StoredMessage:
        read.append(row["seq"])
        return stored_message(row)

    monkeypatch.setattr(storage_context, "stored_message", noted)
    context = await services.context.assemble(scope, TALK, 8_000)
    assert context.fitted.dropped_messages + len(context.fitted.messages) == 20_001
    assert 7_900 < context.fitted.message_tokens <= 8_000
    assert len(read) < 2 * len(context.fitted.messages)


async def test_what_is_stated_is_the_count_of_what_is_sent(services: Services, scope: Scope) -> None:
    deep = {"zeta": 1e300, "b": [1.5, 1e17, None, {"日本": "語", "a": True}], "a-long-key": -0.5}
    part = {"type": "tool", "tool_id": "t", "tool_name": "n", "tool_input": deep, "tool_status": "pending"}
    await services.messages.append(scope, TALK, [said("why"), NewMessage(MessageRole.ASSISTANT, (part, deep))])
    shown = (await services.context.assemble(scope, TALK, 100_000)).fitted
    recount = [services.count_tokens(countable_text(message.parts)) for message in shown.messages]
    assert [message.tokens for message in shown.messages] == recount
    assert shown.message_tokens == sum(recount)
    assert json.dumps(shown.messages[1].parts[0]["tool_input"], ensure_ascii=False) in countable_text(
        shown.messages[1].parts
    )


@pytest.mark.parametrize(
    ("most", "seqs"), [(0, []), (1, [6]), (2, [6]), (3, [6]), (4, [3, 4, 5, 6]), (20, [1, 2, 3, 4, 5, 6])]
)
async def test_a_search_sees_the_newest_messages_and_no_torn_pair(
    services: Services, scope: Scope, most: int, seqs: list[int]
) -> None:
    await store(services, scope, [said("a"), answered(), calls("t", "u"), results("t"), results("u"), said("b")])
    context = await services.context.recent(scope, TALK, most)
    assert [message.seq for message in context.fitted.messages] == seqs
    assert context.fitted.dropped_messages == 6 - len(seqs)


async def test_a_search_takes_twenty_messages_unless_told(services: Services, scope: Scope) -> None:
    await tell(services, scope, TALK, *map(str, range(30)))
    assert len((await services.context.recent(scope, TALK)).fitted.messages) == 20


async def test_a_search_of_nothing_is_refused(services: Services, scope: Scope) -> None:
    with pytest.raises(NotFound):
        await services.context.recent(scope, TALK, 1)
    with pytest.raises(InvalidInput) as refused:
        await services.context.recent(scope, TALK, -1)
    assert refused.value.details == {"field": "max_messages"}
