"""The services of one process on real PostgreSQL, and a user who has a room of his own."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from app.bootstrap import Services
from app.domain.scope import Scope
from tests.support.fake_model import FakeModel
from tests.support.house import house, somebody


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
async def services(database_url: str, model: FakeModel) -> AsyncIterator[Services]:
    async with house(database_url, model, lease_seconds=0.6, pool_size=6) as opened:
        yield opened


@pytest.fixture
async def scope(services: Services) -> Scope:
    return await somebody(services)


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection]:
    """A connection that no policy holds, for looking at what is really there."""
    with psycopg.connect(superuser_url, autocommit=True, row_factory=namedtuple_row) as connection:
        yield connection
