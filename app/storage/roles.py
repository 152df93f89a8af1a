"""The roles of the cluster, its logins and its databases: what must stand before the first migration.

Roles belong to the whole cluster and not to one database, so no revision makes them; `cairn migrate --create-roles` and
the embedded server do. Everything here is safe to run twice. These are administrator's connections, opened and closed
here; user data is never read through them.

    cairn_owner   owns every table and migrates; NOINHERIT, so row-level security binds it too
    cairn_app     the API and the workers; owns nothing
    cairn_system  definer of the few functions that look across tenants
"""

from typing import Final

import psycopg
from psycopg import sql

OWNER: Final = "cairn_owner"
APP: Final = "cairn_app"
SYSTEM: Final = "cairn_system"
_NOT_YET_COMMITTED: Final = (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation)


def create_roles(dsn: str) -> None:
    """Make the three roles, and let the caller of `dsn` hand things to them.

    dsn: a login that may create roles (a superuser, or CREATEROLE).
    Raises: psycopg.errors.InsufficientPrivilege where it may not.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        for role in (OWNER, APP, SYSTEM):
            _create_role(connection, sql.SQL("CREATE ROLE {} NOLOGIN NOINHERIT").format(sql.Identifier(role)))
        _grant(connection, SYSTEM, OWNER)
        row = connection.execute("SELECT rolsuper, current_user FROM pg_roles WHERE rolname = current_user").fetchone()
        if row is not None and not row[0]:
            for role in (OWNER, APP, SYSTEM):
                _grant(connection, role, row[1])
        database = connection.execute("SELECT current_database()").fetchone()
        if database is not None:
            connection.execute(
                sql.SQL("GRANT CREATE, CONNECT ON DATABASE {} TO {}").format(
                    sql.Identifier(database[0]), sql.Identifier(OWNER)
                )
            )


def create_login(dsn: str, name: str, password: str, *, member_of: tuple[str, ...]) -> None:
    """Make a login that is a member of the given roles, or give an existing one this password."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        _create_role(connection, sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN INHERIT PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        )
        for role in member_of:
            _grant(connection, role, name)


def missing_roles(dsn: str) -> list[str]:
    """Return the roles that `create_roles` has still to make."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute("SELECT rolname FROM pg_roles WHERE rolname = ANY (%s)", [[OWNER, APP, SYSTEM]])
        present = {row[0] for row in rows}
    return [role for role in (OWNER, APP, SYSTEM) if role not in present]


def owner_may_create(dsn: str) -> bool:
    """Return whether the owner may make its schema in this database. The roles must stand."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(
            "SELECT has_database_privilege(%s, current_database(), 'CREATE')"
            " OR EXISTS (SELECT FROM pg_namespace WHERE nspname = 'cairn')",
            [OWNER],
        ).fetchone()
    return bool(row and row[0])


def login_exists(dsn: str, name: str) -> bool:
    """Return whether the cluster has a role of that name."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None


def create_database(dsn: str, name: str, *, template: str | None = None, owner: str = OWNER) -> None:
    """Make a database owned by `owner`, if there is none of that name; `template` is copied, its data included."""
    statement = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(owner))
    if template is not None:
        statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
    with psycopg.connect(dsn, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            try:
                connection.execute(statement)
            except psycopg.errors.DuplicateDatabase:
                return  # somebody else was faster


def drop_database(dsn: str, name: str) -> None:
    """Remove a database and end whoever is connected to it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _create_role(connection: psycopg.Connection, statement: sql.Composed) -> None:
    try:
        connection.execute(statement)
    except _NOT_YET_COMMITTED:
        return  # it stands already, or another process makes it at this moment


def _grant(connection: psycopg.Connection, role: str, member: str) -> None:
    """Grant membership once; PostgreSQL has no GRANT … IF NOT GRANTED, and two at once collide on the same row."""
    held = connection.execute(
        "SELECT 1 FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles u ON u.oid = m.member "
        "WHERE r.rolname = %s AND u.rolname = %s",
        [role, member],
    ).fetchone()
    if held is None:
        try:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(member)))
        except _NOT_YET_COMMITTED:
            return
