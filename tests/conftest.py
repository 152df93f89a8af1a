"""Fixtures that every floor shares: real databases, and no network but loopback."""

import os
from collections.abc import Iterator

import pytest

from tests.support.database import TEMPLATE, Database, Emptier, database, describe_server, shared_server

pytest_plugins = ["tests.support.repeating"]
LOOPBACK = "127.0.0.1,::1,localhost"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Before the plugin that guards the sockets reads its options.
    config.option.allow_hosts = LOOPBACK
    config.option.allow_unix_socket = True


def pytest_report_header() -> str:
    return f"PostgreSQL: {describe_server()}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The superuser's address of the server, which all processes of this run share."""
    with shared_server() as superuser_url:
        yield superuser_url


@pytest.fixture(scope="session")
def process_database(postgres: str) -> Iterator[Database]:
    """The migrated database of this process. Tests take `migrated_database`, which is also emptied."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with database(postgres, f"cairn_{process}", template=TEMPLATE) as own:
        yield own


@pytest.fixture(scope="session")
def emptier(process_database: Database) -> Iterator[Emptier]:
    emptier = Emptier(process_database.superuser_url)
    yield emptier
    emptier.close()


@pytest.fixture
def migrated_database(process_database: Database, emptier: Emptier) -> Iterator[Database]:
    """A migrated database without rows; what the test commits is deleted after it."""
    yield process_database
    emptier.empty()


@pytest.fixture
def database_url(migrated_database: Database) -> str:
    """The address for the application: bound by row-level security."""
    return migrated_database.app_url


@pytest.fixture
def owner_url(migrated_database: Database) -> str:
    """The address for migrations: owns the tables."""
    return migrated_database.owner_url


@pytest.fixture
def superuser_url(migrated_database: Database) -> str:
    """The address that sees everything, for looking at what really is in the tables."""
    return migrated_database.superuser_url


@pytest.fixture
def fresh_database(postgres: str) -> Iterator[Database]:
    """An empty database, not migrated, for this test alone; the roles stand."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with database(postgres, f"cairn_fresh_{process}") as own:
        yield own
