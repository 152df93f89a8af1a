"""What PostgreSQL says, as the kinds of errors the house knows.

Only what a caller can act on is translated; every other database error is a bug and stays what it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
import psycopg_pool
import sqlalchemy as sa

from app.domain.errors import Deadlock, Unavailable

SESSION_MISSING: Final = "CA404"
OTHER_BODY: Final = "CA409"
DOCUMENT_MOVED: Final = "CA412"
NOTHING_FAILED: Final = "CA417"
TAKEN_IN_NOW: Final = "CA423"

DATABASE_ERRORS: Final = (psycopg.Error, sa.exc.SQLAlchemyError)
"""What is left after translation: a bug. For work beside a request that must not fail with it."""

_RETRY_SOON: Final = 1.0
_DEADLOCK: Final = "40P01"
_BUSY: Final = {
    "40001": "Another request changed the same rows at this moment; send the request again.",
    _DEADLOCK: "Two requests waited for each other; send the request again.",
    "55P03": "The rows are locked by another request; send the request again.",
    "57014": "The database took too long; send the request again.",
    "25P03": "The database ended an idle transaction; send the request again.",
    "53300": "The database takes no more connections; send the request again later.",
    "53100": "The database has no room left on its disk.",
    "53200": "The database has no memory left; send the request again later.",
}
_CONNECTION_LOST: Final = ("08", "57P")
"""SQLSTATE classes of a connection that broke and of a server that shuts down or starts."""


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE behind an error of either pool, None where there is none."""
    origin = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return origin.sqlstate if isinstance(origin, psycopg.Error) else None


@contextmanager
def translated() -> Iterator[None]:
    """Turn busy, timed-out and unreachable databases into Unavailable; leave the rest alone."""
    try:
        yield
    except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests, sa.exc.TimeoutError) as error:
        raise Unavailable(
            "No database connection came free in time, or none can be made; send the request again.",
            retry_after_seconds=_RETRY_SOON,
        ) from error
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        raise _kind(error) from error


def _kind(error: psycopg.Error | sa.exc.DBAPIError) -> Exception:
    state = sqlstate(error)
    if state in _BUSY:
        kind = Deadlock if state == _DEADLOCK else Unavailable
        return kind(_BUSY[state], {"sqlstate": state}, retry_after_seconds=_RETRY_SOON)
    origin = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    lost = state is not None and state.startswith(_CONNECTION_LOST)
    if lost or (state is None and isinstance(origin, psycopg.OperationalError)):
        return Unavailable("The database cannot be reached; send the request again.", retry_after_seconds=_RETRY_SOON)
    return error
