"""The database a command works on: the one in CAIRN_DATABASE_URL, else the embedded server of the home folder."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from sqlalchemy.exc import DBAPIError

from app.cli.terminal import out
from app.domain.errors import Forbidden, InvalidInput, PreconditionFailed, Unavailable
from app.embedded.cluster import Cluster
from app.embedded.home import open_home
from app.embedded.owner_lock import OwnerLock
from app.settings import Settings
from app.storage.migrations import current, head, upgrade
from app.storage.roles import (
    APP,
    OWNER,
    SYSTEM,
    create_database,
    create_login,
    create_roles,
    login_exists,
    missing_roles,
    owner_may_create,
)

DATABASE = "cairn"
APP_LOGIN, OWNER_LOGIN = "cairn_api", "cairn_migrator"
SPARE_CONNECTIONS = 30
SMALLEST_MAX_CONNECTIONS = 100
PROVISION_SECONDS = 60.0
HANDOVER_SECONDS, HANDOVER_PAUSE_SECONDS = 20.0, 0.1
GOING = frozenset({"57P01", "57P02", "57P03"})
"""SQLSTATEs of a server that is being stopped or started; one that is gone gives none."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the database is, for each who uses it.

    administrator_url may create roles: the superuser of the embedded server, else the same as owner_url.
    shown describes it for people, without a password.
    """

    app_url: str
    owner_url: str
    administrator_url: str
    shown: str
    embedded: bool


@contextmanager
def open_database(settings: Settings) -> Iterator[Addresses]:
    """Yield a reachable database; an embedded server that nobody runs is run for as long as the block is open.

    Raises: PostgresNotFound, NoUsableUser, WrongVersion, ClusterFailed, HomeNotUsable, psycopg.OperationalError.
    """
    if settings.database_url is not None:
        yield _external(settings, settings.database_url.get_secret_value())
        return
    cluster = Cluster(
        open_home(settings.home), pg_bin=settings.pg_bin, max_connections=embedded_max_connections(settings)
    )
    if not cluster.running:
        out.print(f"Starting PostgreSQL in {cluster.folder} …", markup=False, soft_wrap=True)
    with cluster:
        through_handover(lambda: _provision(cluster))
        yield Addresses(
            app_url=cluster.dsn(APP_LOGIN, DATABASE),
            owner_url=cluster.dsn(OWNER_LOGIN, DATABASE),
            administrator_url=cluster.superuser_dsn,
            shown=f"embedded PostgreSQL in {cluster.folder}, port {cluster.port}",
            embedded=True,
        )


def migrate(addresses: Addresses) -> str:
    """Bring the database to the newest revision and return it; a login that may not migrate suffices where it is there.

    Roles that are missing are made first, where the login may.

    Raises: PreconditionFailed where roles are missing, Forbidden for a login that may not, Unavailable when it failed.
    """
    try:
        return through_handover(lambda: _migrate(addresses)) if addresses.embedded else _migrate(addresses)
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
            raise Forbidden(
                f"This login may not migrate. Put one that is a member of {OWNER} and {SYSTEM} into "
                "CAIRN_DATABASE_OWNER_URL."
            ) from error
        if isinstance(error.orig, psycopg.OperationalError):
            raise Unavailable(f"The migration did not run: {str(error.orig).strip()}") from error
        raise


def _migrate(addresses: Addresses) -> str:
    if missing_roles(addresses.owner_url) or not owner_may_create(addresses.owner_url):
        prepare(addresses)
    return head() if current(addresses.owner_url) == head() else upgrade(addresses.owner_url)


def through_handover(step: Callable[[], T], seconds: float = HANDOVER_SECONDS) -> T:
    """Return what a repeatable step returns, tried again while the embedded server passes from process to process.

    Whoever runs the server may end at any moment; then this process starts it again, on the same port.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return step()
        except (psycopg.OperationalError, DBAPIError) as error:
            if not _is_going(error) or time.monotonic() > deadline:
                raise
            time.sleep(HANDOVER_PAUSE_SECONDS)


def _is_going(error: psycopg.OperationalError | DBAPIError) -> bool:
    origin = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(origin, psycopg.OperationalError) and (origin.sqlstate is None or origin.sqlstate in GOING)


def prepare(addresses: Addresses) -> None:
    """Make the roles and, where CAIRN_DATABASE_URL names a login of its own that is not there yet, that login.

    Raises: PreconditionFailed where the login at hand may not.
    """
    try:
        create_roles(addresses.administrator_url)
        app = psycopg.conninfo.conninfo_to_dict(addresses.app_url)
        login, password = app.get("user"), app.get("password")
        if login and password and not login_exists(addresses.administrator_url, str(login)):
            create_login(addresses.administrator_url, str(login), str(password), member_of=(APP,))
    except psycopg.errors.InsufficientPrivilege as error:
        raise PreconditionFailed(
            "The roles of Cairn are missing here, and this login may not make them. Run `cairn migrate --create-roles` "
            "once, with a superuser, or a login with CREATEROLE, in CAIRN_DATABASE_OWNER_URL."
        ) from error


def connections_wanted(settings: Settings) -> int:
    """Return how many connections `cairn serve` opens at most: two pools and one listener per process."""
    return (settings.api_workers + 1) * (2 * settings.pool_size + 1)


def embedded_max_connections(settings: Settings) -> int:
    """Return the limit of the embedded server: what `serve` needs, one more worker, and people with psql."""
    worker = 2 * settings.pool_size + 1
    return max(SMALLEST_MAX_CONNECTIONS, connections_wanted(settings) + worker + SPARE_CONNECTIONS)


def _external(settings: Settings, app_url: str) -> Addresses:
    direct = settings.database_direct_url.get_secret_value() if settings.database_direct_url else None
    owner = settings.database_owner_url.get_secret_value() if settings.database_owner_url else None
    owner_url = owner or direct or app_url
    try:
        parts = psycopg.conninfo.conninfo_to_dict(app_url)
    except psycopg.ProgrammingError as error:
        raise InvalidInput(
            "CAIRN_DATABASE_URL is no address of a database; one looks like postgresql://user:password@host:5432/cairn."
        ) from error
    shown = f"PostgreSQL at {parts.get('host', 'this machine')}, database {parts.get('dbname', '')}"
    return Addresses(app_url, owner_url, owner_url, shown, embedded=False)


def _provision(cluster: Cluster) -> None:
    """Make roles, database and logins of a new server once; several processes may arrive at the same time."""
    lock = OwnerLock(cluster.folder / "provision.lock")
    deadline = time.monotonic() + PROVISION_SECONDS
    while not _logins_work(cluster):
        if lock.acquire_now():
            try:
                _make_database(cluster)
            finally:
                lock.release()
        elif time.monotonic() > deadline:
            raise Unavailable(f"Another process holds {cluster.folder / 'provision.lock'} and does not finish.")
        else:
            time.sleep(0.05)


def _make_database(cluster: Cluster) -> None:
    create_roles(cluster.superuser_dsn)
    create_database(cluster.superuser_dsn, DATABASE, owner=OWNER)
    for login, roles in ((APP_LOGIN, (APP,)), (OWNER_LOGIN, (OWNER, SYSTEM))):
        create_login(cluster.superuser_dsn, login, cluster.passwords.ensure(login), member_of=roles)


def _logins_work(cluster: Cluster) -> bool:
    return all(cluster.accepts(login, DATABASE) for login in (APP_LOGIN, OWNER_LOGIN))
