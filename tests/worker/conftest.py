"""Workers run in this process, on services with a short lease and a model that the test speaks for."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from app.bootstrap import Services
from app.domain.scope import Scope
from tests.support.fake_model import FakeModel
from tests.support.house import house, somebody

LEASE_SECONDS = 0.6
OpenHouse: TypeAlias = Callable[..., AbstractAsyncContextManager[Services]]


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
def open_house(database_url: str, model: FakeModel) -> OpenHouse:
    """Open the services of another process on the same database."""

    def open_one(chat_model: FakeModel | None = None, **settings: Any) -> AbstractAsyncContextManager[Services]:
        return house(database_url, chat_model or model, **{"lease_seconds": LEASE_SECONDS, "pool_size": 6, **settings})

    return open_one


@pytest.fixture
async def services(open_house: OpenHouse) -> AsyncIterator[Services]:
    async with open_house() as opened:
        yield opened


@pytest.fixture
async def scope(services: Services) -> Scope:
    return await somebody(services)


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection]:
    """A connection that no policy holds, for looking and for breaking things."""
    with psycopg.connect(superuser_url, autocommit=True, row_factory=namedtuple_row) as connection:
        yield connection
