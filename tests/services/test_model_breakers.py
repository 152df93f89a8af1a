"""A service that keeps failing is left alone by all processes, and tried again by one."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from app.providers.breaker import FAILURES_ALLOWED, FIRST_PAUSE, LONGEST_PAUSE
from app.services.model_breakers import StoredBreakers
from app.storage.transaction import Database

KEY = ("http://here/v1/", "harbour-1")


@pytest.fixture
async def breakers(database_url: str) -> AsyncIterator[StoredBreakers]:
    database = await Database.open(database_url, pool_size=8)
    yield StoredBreakers(database)
    await database.close()


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(superuser_url, autocommit=True, row_factory=namedtuple_row) as connection:
        yield connection


def end_the_pause(superuser: psycopg.Connection) -> None:
    superuser.execute("UPDATE cairn.model_breakers SET open_until = now()")


async def test_a_few_failures_pause_nothing(breakers: StoredBreakers) -> None:
    assert await breakers.pause_seconds(*KEY) == 0.0
    for _ in range(FAILURES_ALLOWED - 1):
        await breakers.note_failure(*KEY)
    assert await breakers.pause_seconds(*KEY) == 0.0
    await breakers.note_success(*KEY)
    await breakers.note_failure(*KEY)
    assert await breakers.pause_seconds(*KEY) == 0.0


async def test_pauses_grow_while_it_keeps_failing_and_end_with_a_success(breakers: StoredBreakers) -> None:
    for _ in range(FAILURES_ALLOWED):
        await breakers.note_failure(*KEY)
    first = FIRST_PAUSE.total_seconds()
    assert first - 5 < await breakers.pause_seconds(*KEY) <= first
    assert await breakers.pause_seconds("http://here/v1/", "harbour-2") == 0.0
    await breakers.note_failure(*KEY)
    assert 2 * first - 5 < await breakers.pause_seconds(*KEY) <= 2 * first
    for _ in range(20):
        await breakers.note_failure(*KEY)
    longest = LONGEST_PAUSE.total_seconds()
    assert longest - 5 < await breakers.pause_seconds(*KEY) <= longest
    await breakers.note_success(*KEY)
    assert await breakers.pause_seconds(*KEY) == 0.0


async def test_when_a_pause_is_over_one_tries_and_the_others_wait(
    breakers: StoredBreakers, superuser: psycopg.Connection
) -> None:
    for _ in range(FAILURES_ALLOWED):
        await breakers.note_failure(*KEY)
    end_the_pause(superuser)
    pauses = await asyncio.gather(*(breakers.pause_seconds(*KEY) for _ in range(8)))
    assert sorted(pause > 0 for pause in pauses) == [False, *[True] * 7]
