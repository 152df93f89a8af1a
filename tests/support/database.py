"""The PostgreSQL that the tests run on: a container where a Docker engine answers, else the embedded server.

One server for all processes of a test run (pytest-xdist starts several). They meet in a folder named after the run: the
first starts the server and makes a migrated template database, each clones one database of its own, and the server
ends after the last of them. Killed runs leave nothing: the embedded server ends with its process.
"""

import fcntl
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from app.embedded.binaries import PostgresNotFound, find_binaries
from app.embedded.cluster import Cluster
from app.storage.migrations import upgrade
from app.storage.roles import create_database, create_login, create_roles, drop_database

IMAGE = "pgvector/pgvector:pg18"
TEMPLATE = "cairn_template"
LOGINS = {"cairn_test_app": ("cairn_app",), "cairn_test_owner": ("cairn_owner", "cairn_system")}
PASSWORD = "only-for-tests"
CONNECTIONS = 300
LEFTOVER_SECONDS = 600


@dataclass(frozen=True)
class Database:
    """One database, seen by the three who use it: the application, the migrator, the superuser."""

    name: str
    superuser_url: str

    @property
    def app_url(self) -> str:
        return with_login(self.superuser_url, "cairn_test_app")

    @property
    def owner_url(self) -> str:
        return with_login(self.superuser_url, "cairn_test_owner")


@contextmanager
def shared_server() -> Iterator[str]:
    """Yield the superuser's address of the server of this test run, with the template database in place."""
    remove_leftovers()
    folder = run_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / "users.lock", "w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        server = ContainerServer(folder) if docker_socket() else EmbeddedServer(folder)
        try:
            with exclusively(folder / "template.lock"):
                if not (folder / "template.done").exists():
                    make_template(server.superuser_url)
                    (folder / "template.done").touch()
            yield server.superuser_url
        finally:
            if server.owned:
                fcntl.flock(users, fcntl.LOCK_EX)  # until the other processes of the run are done
            owned = server.owned
            server.stop()
            if owned:
                shutil.rmtree(folder)


class EmbeddedServer:
    """The product's own server. When the process that runs it is killed, another of the run takes over."""

    def __init__(self, folder: Path) -> None:
        # Not durable: when the machine crashes the test run is over anyway. Killed processes are survived all the same.
        self._cluster = Cluster(folder, max_connections=CONNECTIONS, durable=False)
        self._cluster.start()
        self.superuser_url = self._cluster.superuser_dsn

    @property
    def owned(self) -> bool:
        return self._cluster.owned

    def stop(self) -> None:
        self._cluster.stop()


class ContainerServer:
    """A container, run by the first process; when that is killed, the reaper of testcontainers removes it."""

    def __init__(self, folder: Path) -> None:
        from testcontainers.community.postgres import PostgresContainer

        self._container: PostgresContainer | None = None
        address = folder / "container.url"
        with exclusively(folder / "container.lock"):
            if not address.exists():
                command = f"-c max_connections={CONNECTIONS} -c fsync=off"
                self._container = PostgresContainer(IMAGE, driver=None, command=command).start()
                address.write_text(self._container.get_connection_url())
        self.superuser_url = address.read_text()

    @property
    def owned(self) -> bool:
        return self._container is not None

    def stop(self) -> None:
        if self._container is not None:
            self._container.stop()


def make_template(superuser_url: str) -> None:
    """Make the roles, the logins of the tests and the migrated database that all others are copied from."""
    create_roles(superuser_url)
    for login, roles in LOGINS.items():
        create_login(superuser_url, login, PASSWORD, member_of=roles)
    create_database(superuser_url, TEMPLATE)
    upgrade(Database(TEMPLATE, with_database(superuser_url, TEMPLATE)).owner_url)


@contextmanager
def database(superuser_url: str, name: str, template: str | None = None) -> Iterator[Database]:
    """Yield a database that is dropped afterwards: a clone of a template, or an empty one."""
    create_database(superuser_url, name, template=template)
    try:
        yield Database(name, with_database(superuser_url, name))
    finally:
        drop_database(superuser_url, name)


class Emptier:
    """Takes out every row that was not in the template, by DELETE: a clone per test would cost thirty times as much."""

    def __init__(self, superuser_url: str) -> None:
        self._connection = psycopg.connect(superuser_url, autocommit=True)
        # As a replica the server skips foreign keys, so the order of the tables does not matter.
        self._connection.execute("SET session_replication_role = replica; SET lock_timeout = '5s'")
        self._statement = sql.SQL(";").join(self._delete(schema, table) for schema, table in self._tables())

    def empty(self) -> None:
        self._connection.execute(self._statement)

    def close(self) -> None:
        self._connection.close()

    def _tables(self) -> list[tuple[str, str]]:
        return self._connection.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' "
            "AND c.relname !~ '^alembic_version'"
        ).fetchall()

    def _delete(self, schema: str, table: str) -> sql.Composable:
        """Return the DELETE for a table; rows that a migration put there are recognised by their whole text."""
        name = sql.Identifier(schema, table)
        seeds = [row[0] for row in self._connection.execute(sql.SQL("SELECT t::text FROM {} t").format(name))]
        if not seeds:
            return sql.SQL("DELETE FROM {}").format(name)
        return sql.SQL("DELETE FROM {} t WHERE t::text <> ALL({})").format(name, sql.Literal(seeds))


def describe_server() -> str:
    """Return the line that says what the tests run on."""
    engine = docker_socket()
    if engine is not None:
        return f"container {IMAGE}, by the engine at {engine}"
    try:
        binaries = find_binaries()
    except PostgresNotFound as error:
        return f"none. {error.message}"
    return f"embedded, programs from {binaries.origin} ({binaries.folder})"


def docker_socket() -> Path | None:
    """Return the socket of a Docker or Podman engine that answers."""
    named = os.environ.get("DOCKER_HOST", "")
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}"))
    usual = (
        Path("/var/run/docker.sock"),
        Path("~/.docker/run/docker.sock").expanduser(),
        runtime / "docker.sock",
        runtime / "podman" / "podman.sock",
        Path("/run/podman/podman.sock"),
    )
    candidates = (Path(named.removeprefix("unix://")),) if named.startswith("unix://") else usual
    return next((path for path in candidates if _answers_ping(path)), None)


def run_folder() -> Path:
    """Return the folder in which the processes of this test run meet."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"pid{os.getpid()}")
    return Path(tempfile.gettempdir()) / f"cairn-tests-{run}"


def remove_leftovers() -> None:
    """Remove the folders of runs that were killed: old enough that nobody is just starting, and used by nobody."""
    for folder in Path(tempfile.gettempdir()).glob("cairn-tests-*"):
        try:
            if time.time() - folder.stat().st_mtime < LEFTOVER_SECONDS:
                continue
            with open(folder / "users.lock") as users:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
        except OSError:  # in use, somebody else's, or removed by another run at this moment
            continue


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def with_login(url: str, login: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{login}:{PASSWORD}@{parts.hostname}:{parts.port}"))


@contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Let one process at a time in."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _answers_ping(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as engine:
            engine.settimeout(1.0)
            engine.connect(str(path))
            engine.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
            return b" 200 " in engine.recv(64)
    except OSError:
        return False
