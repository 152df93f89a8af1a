"""Counters are exact under any number of writers, for any window."""

import asyncio
import itertools
import random
from dataclasses import dataclass

import psycopg
import pytest

from app.domain.archives import Sealed
from app.domain.messages import Appended
from app.domain.scope import Scope
from app.storage.transaction import Database
from tests.support.sealing import append, remember_window, seal

WINDOWS = (0, 1, 3, 10)


@dataclass(frozen=True)
class Reply:
    """What one writer was told after one batch."""

    top: int
    live_count: int
    pending_tokens: int


async def write(
    database: Database, scope: Scope, *, writers: int, messages_each: int, largest_batch: int
) -> list[Reply]:
    """Let writers append to one session at the same time, and return everything they were told."""

    async def writer(number: int) -> list[Reply]:
        dice, left, replies = random.Random(number), messages_each, []
        while left:
            size = min(left, dice.randint(1, largest_batch))
            left -= size
            answer: Appended = await append(database, scope, "busy", [dice.randint(0, 50) for _ in range(size)])
            assert answer.seqs == tuple(range(answer.seqs[0], answer.seqs[0] + size))
            replies.append(Reply(answer.seqs[-1], answer.live_count, answer.pending_tokens))
        return replies

    return list(itertools.chain(*await asyncio.gather(*(writer(number) for number in range(writers)))))


def stored_tokens(superuser: psycopg.Connection) -> dict[int, int]:
    return {row.seq: row.tokens for row in superuser.execute("SELECT seq, tokens FROM cairn.messages ORDER BY seq")}


def faults(superuser: psycopg.Connection) -> list[object]:
    return superuser.execute("SELECT session_id, fault FROM cairn.check_sessions").fetchall()


def wrong_replies(replies: list[Reply], tokens: dict[int, int], keep: int) -> list[Reply]:
    """Recount, message by message, what each reply should have said at its moment."""
    through = dict(zip(tokens, itertools.accumulate(tokens.values()), strict=True)) | {0: 0}

    def recount(reply: Reply) -> int:
        sealed = reply.top - reply.live_count
        return through[max(sealed, reply.top - keep)] - through[sealed]

    return [reply for reply in replies if reply.pending_tokens != recount(reply)]


async def check_writers(
    database: Database, scope: Scope, superuser: psycopg.Connection, *, keep: int, writers: int, messages_each: int
) -> None:
    for largest_batch in (1, 4):
        superuser.execute("DELETE FROM cairn.sessions")
        await remember_window(database, scope, "busy", keep)
        replies = await write(
            database, scope, writers=writers, messages_each=messages_each, largest_batch=largest_batch
        )
        tokens = stored_tokens(superuser)
        assert list(tokens) == list(range(1, writers * messages_each + 1))
        assert wrong_replies(replies, tokens, keep) == []
        assert faults(superuser) == []
        last = max(replies, key=lambda reply: reply.top)
        assert last.pending_tokens == sum(list(tokens.values())[: len(tokens) - keep])


@pytest.mark.parametrize("keep", WINDOWS)
async def test_every_reply_to_concurrent_writers_is_exact(
    database: Database, scope: Scope, superuser: psycopg.Connection, keep: int
) -> None:
    await check_writers(database, scope, superuser, keep=keep, writers=8, messages_each=25)


@pytest.mark.cases
@pytest.mark.parametrize("keep", WINDOWS)
async def test_every_reply_to_sixteen_writers_of_two_hundred_messages_is_exact(
    database: Database, scope: Scope, superuser: psycopg.Connection, keep: int
) -> None:
    await check_writers(database, scope, superuser, keep=keep, writers=16, messages_each=200)


@pytest.mark.parametrize("keep", [0, 3])
async def test_commits_that_race_appends_lose_and_double_nothing(
    database: Database, scope: Scope, superuser: psycopg.Connection, keep: int, repetition: int
) -> None:
    await remember_window(database, scope, "busy", keep)

    async def commit_now_and_then(done: asyncio.Event) -> int:
        sealed = 0
        while not done.is_set():
            sealed += isinstance(await seal(database, scope, "busy", keep), Sealed)
        return sealed

    done = asyncio.Event()
    committing = [asyncio.create_task(commit_now_and_then(done)) for _ in range(2)]
    replies = await write(database, scope, writers=6, messages_each=30, largest_batch=3)
    done.set()
    sealed = sum(await asyncio.gather(*committing))
    tokens = stored_tokens(superuser)
    assert list(tokens) == list(range(1, 181))
    assert wrong_replies(replies, tokens, keep) == []
    assert faults(superuser) == []
    ranges = superuser.execute("SELECT first_seq, last_seq FROM cairn.archives ORDER BY archive_no").fetchall()
    assert len(ranges) == sealed > 0
    assert [row.first_seq for row in ranges] == [1, *(row.last_seq + 1 for row in ranges[:-1])]


async def test_two_commits_at_once_make_one_archive(
    database: Database, scope: Scope, superuser: psycopg.Connection, repetition: int
) -> None:
    await append(database, scope, "busy", [5] * 20)
    outcomes = await asyncio.gather(*(seal(database, scope, "busy") for _ in range(8)))
    assert sum(isinstance(outcome, Sealed) for outcome in outcomes) == 1
    archives = superuser.execute("SELECT archive_no, first_seq, last_seq, tokens FROM cairn.archives").fetchall()
    assert archives == [(1, 1, 20, 100)]
    jobs = superuser.execute("SELECT kind, state FROM cairn.jobs").fetchall()
    assert jobs == [("working_memory", "ready")]
