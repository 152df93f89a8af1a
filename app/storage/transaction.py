"""The only way to the database: two doors, two pools, one place that begins and commits.

    transaction(tenant)  several statements that happen together or not at all
    statement(tenant)    one call of a SQL function: one round trip on an autocommit connection

Both set the tenant for row-level security. A transaction does not nest: when its block is left, the rows are durable.
While a block is open `transaction_open()` is true, and whoever would wait for a network refuses to.
"""

import select
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias, cast

import psycopg
import sqlalchemy as sa
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.domain.errors import PreconditionFailed, Unavailable
from app.storage.failures import translated
from app.storage.migrations import sqlalchemy_url

Transaction: TypeAlias = AsyncConnection

_SET_TENANT: Final = sa.text("SELECT set_config('cairn.account_id', :account_id, true)")
_TIMEOUTS: Final = {
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
}
_POOL_WAIT_SECONDS: Final = 5.0
_OPEN_WAIT_SECONDS: Final = 10.0
_open: ContextVar[bool] = ContextVar("transaction_open", default=False)


class Tenant(Protocol):
    """Whatever names an account: a Scope, or an administrator's view of one account."""

    @property
    def account_id(self) -> int: ...


class NestedTransaction(RuntimeError):
    """A programming error: a second transaction was asked for inside an open one."""


class Statement:
    """An autocommit connection on which one SQL function is called."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], tenant: Tenant | None) -> None:
        self._connection = connection
        self._tenant = tenant

    async def rows(self, query: str, arguments: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one function call.

        The function gets the account as its first argument, where there is a tenant, and sets it before it reads
        anything; functions without a tenant are definers and check for themselves.
        """
        prefix = () if self._tenant is None else (self._tenant.account_id,)
        cursor = await self._connection.execute(query, (*prefix, *arguments))
        return await cursor.fetchall()


class Database:
    """Both pools of one process. Made by `Database.open`, ended by `close`."""

    def __init__(self, engine: AsyncEngine, pool: AsyncConnectionPool[Any], direct_dsn: str) -> None:
        self._engine = engine
        self._pool = pool
        self._direct_dsn = direct_dsn

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        pool_size: int = 10,
        pool_wait_seconds: float = _POOL_WAIT_SECONDS,
        direct_dsn: str | None = None,
    ) -> "Database":
        """Open both pools, at most pool_size connections each; who waits longer for one is told to come again.

        dsn: the application's login. A login that could see past row-level security works as cairn_app instead.
        direct_dsn: an address past a transaction pooler, for LISTEN; giving it turns prepared statements off on dsn.
        Raises: Unavailable when the server cannot be reached, PreconditionFailed for a login that sees past row-level
        security and cannot work as cairn_app (behind a pooler nothing can be set for a connection).
        """
        pooled = direct_dsn is not None
        with translated():
            step_down = await _must_step_down(dsn, pooled=pooled)
        options: dict[str, Any] = {"application_name": "cairn"}
        if not pooled:
            values = {**_TIMEOUTS, **({"role": "cairn_app"} if step_down else {})}
            options["options"] = " ".join(f"-c {name}={value}" for name, value in values.items())
        prepare: dict[str, Any] = {"prepare_threshold": None} if pooled else {}
        engine = create_async_engine(
            sqlalchemy_url(dsn),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=pool_wait_seconds,
            pool_pre_ping=False,
            connect_args={**options, **prepare},
        )
        sa.event.listen(engine.sync_engine, "checkout", _refuse_closed)
        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            dsn,
            min_size=min(2, pool_size),
            max_size=pool_size,
            timeout=pool_wait_seconds,
            kwargs={"autocommit": True, **options, **prepare},
            check=None,  # psycopg's waits seconds between two broken connections; see _pooled
            open=False,
            name="statements",
        )
        with translated():
            await pool.open(wait=True, timeout=_OPEN_WAIT_SECONDS)
        return cls(engine, pool, direct_dsn or dsn)

    async def close(self) -> None:
        """Give all connections back."""
        await self._pool.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def transaction(self, tenant: Tenant | None, *, snapshot: bool = False) -> AsyncIterator[Transaction]:
        """Open one transaction for a tenant; leaving the block commits, an exception rolls back.

        tenant: None only where no user data is touched (readiness, the queue's definer functions).
        snapshot: one REPEATABLE READ picture, read only.
        Raises: Unavailable when the database is busy or gone, NestedTransaction inside an open block.
        """
        with _marked_open(), translated():
            async with self._engine.connect() as connection:
                if snapshot:
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                async with connection.begin():
                    if tenant is not None:
                        await connection.execute(_SET_TENANT, {"account_id": str(tenant.account_id)})
                    yield connection

    @asynccontextmanager
    async def statement(self, tenant: Tenant | None) -> AsyncIterator[Statement]:
        """Open the one-round-trip door.

        Raises: Unavailable when the database is busy or gone, NestedTransaction inside an open block.
        """
        with _marked_open(), translated():
            async with self._pooled() as connection:
                yield Statement(connection, tenant)

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        while _is_closed(connection := await self._pool.getconn()):
            await connection.close()
            await self._pool.putconn(connection)
        try:
            async with connection:
                yield connection
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def notifications(self, *channels: str) -> AsyncIterator[AsyncIterator[str]]:
        """Yield the names of channels as they are notified, on a connection of its own that no pooler stands before.

        Raises: Unavailable when the connection breaks; whoever listens opens the door again and polls meanwhile.
        """
        async with (
            self._listening(*channels) as received,
            aclosing(notification.channel async for notification in received) as names,
        ):
            yield names

    @asynccontextmanager
    async def payloads(self, channel: str) -> AsyncIterator[AsyncIterator[str]]:
        """Yield what is said on one channel, in the same way. Raises: Unavailable when the connection breaks."""
        async with (
            self._listening(channel) as received,
            aclosing(notification.payload async for notification in received) as payloads,
        ):
            yield payloads

    @asynccontextmanager
    async def _listening(self, *channels: str) -> AsyncIterator[AsyncGenerator[psycopg.Notify]]:
        with translated():
            connection = await psycopg.AsyncConnection.connect(
                self._direct_dsn, autocommit=True, application_name="cairn-listen"
            )
            async with connection:
                for channel in channels:
                    await connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
                # A generator that is left halfway holds the lock of its connection, which could then never be closed.
                async with aclosing(connection.notifies()) as received, aclosing(_notified(received)) as notified:
                    yield notified


async def statement_in(tx: Transaction, tenant: Tenant) -> Statement:
    """Return the other door inside an open transaction: the call happens with the rest of it or not at all."""
    raw = await tx.get_raw_connection()
    return Statement(cast("psycopg.AsyncConnection[Any]", raw.driver_connection), tenant)


async def enter_tenant(tx: Transaction, tenant: Tenant) -> None:
    """Go on with a transaction that was opened for nobody as one of a tenant that it has just made."""
    await tx.execute(_SET_TENANT, {"account_id": str(tenant.account_id)})


def transaction_open() -> bool:
    """Return whether the running task holds a database connection at this moment."""
    return _open.get()


async def _notified(received: AsyncGenerator[psycopg.Notify]) -> AsyncGenerator[psycopg.Notify]:
    async for notification in received:
        yield notification
    raise Unavailable("The connection that listens for notifications was closed.")


def _is_closed(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Tell, without asking the server, whether it has hung up on a connection that lay idle.

    Nothing is ever sent to such a connection but the end of it, so whatever can be read there is that. A restarted
    server then costs a new connection instead of a failed request for every one that was open.
    """
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _refuse_closed(connection: Any, record: object, proxy: object) -> None:
    if _is_closed(connection.driver_connection):
        raise sa.exc.InvalidatePoolError


@contextmanager
def _marked_open() -> Iterator[None]:
    if _open.get():
        raise NestedTransaction("A transaction is open already; hand it down instead of opening another.")
    token = _open.set(True)
    try:
        yield
    finally:
        _open.reset(token)


async def _must_step_down(dsn: str, *, pooled: bool) -> bool:
    """Return whether this login must work as cairn_app: superusers and owners would not be held by the policies.

    Raises: PreconditionFailed where it must and cannot.
    """
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        cursor = await connection.execute(
            "SELECT rolsuper OR rolbypassrls OR pg_has_role(current_user, 'cairn_system', 'MEMBER'),"
            " NOT rolsuper AND NOT pg_has_role(current_user, 'cairn_app', 'MEMBER')"
            " FROM pg_roles WHERE rolname = current_user"
        )
        row = await cursor.fetchone()
    sees_everything, cannot_step_down = row or (False, False)
    if sees_everything and (pooled or cannot_step_down):
        reason = "a pooler stands before it" if pooled else "it is no member of cairn_app"
        raise PreconditionFailed(
            f"The login of CAIRN_DATABASE_URL sees past row-level security and cannot be held by it, because {reason}. "
            "Give Cairn a login that is a member of cairn_app and of no other role."
        )
    return bool(sees_everything)
