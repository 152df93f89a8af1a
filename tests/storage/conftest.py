"""The two doors to the database, a user who has a room of his own, and the superuser who sees what is really there."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from app.domain.scope import Role, Scope
from app.storage import identity
from app.storage.transaction import Database


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Both pools, wide enough for the races of these tests."""
    opened = await Database.open(database_url, pool_size=16)
    yield opened
    await opened.close()


@pytest.fixture
async def scope(database: Database) -> Scope:
    return await user_of(database, "acme", "ann")


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection]:
    """A connection that no policy holds, for looking and for breaking things."""
    with psycopg.connect(superuser_url, autocommit=True, row_factory=namedtuple_row) as connection:
        yield connection


async def user_of(database: Database, account: str, user: str) -> Scope:
    async with database.statement(None) as statement:
        scope = await identity.find_by_names(statement, account, user, Role.USER, create=True)
    assert scope is not None
    return scope
