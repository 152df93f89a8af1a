"""Clients of the application on a real database."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.bootstrap import Services
from tests.support.api import calling, serving_mode
from tests.support.house import house


@pytest.fixture
async def services(database_url: str) -> AsyncIterator[Services]:
    """Services as `cairn serve` has them without settings: no keys, no model."""
    async with house(database_url) as built:
        yield built


@pytest.fixture
async def client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server without keys."""
    async with calling(services) as connected:
        yield connected


@pytest.fixture
async def keyed(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server where every request needs a key."""
    async with serving_mode(database_url, "api_key") as (_, connected):
        yield connected


@pytest.fixture
def rows(superuser_url: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Look at what really is in the tables, past row-level security."""

    def look(query: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(superuser_url) as connection:
            return connection.execute(query, values).fetchall()

    return look
