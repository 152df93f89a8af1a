"""What a server, a database and a login are like, for `cairn doctor`. Reads catalogs, never user data."""

from dataclasses import dataclass
from typing import Final

import psycopg

from app.storage.roles import SYSTEM

EXTENSIONS: Final = ("vector", "pg_trgm", "pg_stat_statements")
_FACTS: Final = """
    SELECT current_setting('server_version_num')::int / 10000, current_setting('server_version'),
           d.datctype, pg_encoding_to_char(d.encoding),
           current_setting('max_connections')::int,
           current_setting('superuser_reserved_connections')::int,
           r.rolname, r.rolsuper OR r.rolbypassrls
      FROM pg_database d, pg_roles r
     WHERE d.datname = current_database() AND r.rolname = current_user
"""
_EXTENSIONS: Final = "SELECT name, default_version FROM pg_available_extensions WHERE name = ANY (%s)"
_MEMBERSHIPS: Final = """
    SELECT rolname FROM pg_roles WHERE rolname LIKE 'cairn\\_%%' AND pg_has_role(current_user, oid, 'MEMBER')
"""
_FAULTS: Final = "SELECT account_id, session_id, fault FROM cairn.check_sessions LIMIT %s"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server as one login sees it.

    usable_connections: those that are not kept back for superusers.
    sees_everything: the login passes over row-level security (superuser or BYPASSRLS).
    roles: the cairn_ roles the login is a member of. extensions: name to version, installed or not.
    """

    major: int
    version: str
    ctype: str
    encoding: str
    usable_connections: int
    login: str
    sees_everything: bool
    roles: frozenset[str]
    extensions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows of one session that contradict each other."""

    account_id: int
    session_id: int
    fault: str


def inspect(dsn: str) -> ServerFacts:
    """Return the facts about a database. Raises: psycopg.OperationalError when it cannot be reached."""
    with psycopg.connect(dsn, autocommit=True, connect_timeout=5) as connection:
        row = connection.execute(_FACTS).fetchone()
        assert row is not None
        extensions: dict[str, str] = dict(connection.execute(_EXTENSIONS, [list(EXTENSIONS)]).fetchall())
        roles = frozenset(name for (name,) in connection.execute(_MEMBERSHIPS, []))
    major, version, ctype, encoding, connections, reserved, login, sees_everything = row
    return ServerFacts(
        major, version, ctype, encoding, connections - reserved, login, sees_everything, roles, extensions
    )


def recount(owner_dsn: str, *, at_most: int = 100) -> list[Fault]:
    """Rebuild every counter from its rows and return what differs. Reads all messages; costs seconds per million.

    owner_dsn: a login that is a member of cairn_system.
    """
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("SET ROLE {}").format(psycopg.sql.Identifier(SYSTEM)))
        return [Fault(*row) for row in connection.execute(_FAULTS, [at_most])]
