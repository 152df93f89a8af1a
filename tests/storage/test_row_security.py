"""The second lock: rows of one account do not exist for another, whatever a query forgot to say."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import errors, sql

from app.domain.scope import Scope
from app.storage.tables import metadata
from app.storage.transaction import Database
from tests.storage.conftest import user_of
from tests.support.every_table import fill_every_table

SHARED = {"model_breakers", "model_capabilities"}
"""Tables about the installation, without anybody's text: every account may read and write all of their rows."""

TABLES = sorted({table.name for table in metadata.tables.values()} - SHARED)
VIEWS = ("archive_steps", "check_sessions")
UPDATED = {"sessions": "name", "users": "name", "api_keys": "label", "jobs": "kind", "archives": "abstract",
           "tool_calls": "tool_id", "working_memory_deferred": "reason"}  # fmt: skip
DELETED = ("sessions", "users", "api_keys", "jobs", "accounts", "idempotency_keys")
APPEND_ONLY = ("messages", "working_memory_sections", "model_calls", "model_answers", "tool_results")


def qualified(table: str) -> sql.Identifier:
    return sql.Identifier("cairn", table)


def account_key(table: str) -> sql.Identifier:
    return sql.Identifier("id" if table == "accounts" else "account_id")


@dataclass(frozen=True)
class Neighbours:
    """The application's connection, and the two accounts that share the database."""

    app: psycopg.Connection
    mine: Scope
    theirs: Scope

    def as_account(self, account_id: int | None) -> None:
        self.app.execute("SELECT set_config('cairn.account_id', %s, false)", [str(account_id or "")])

    def rows(self, table: str) -> int:
        (row,) = self.app.execute(sql.SQL("SELECT count(*) FROM {}").format(qualified(table)))
        return int(row[0])


@pytest.fixture
async def neighbours(
    database: Database, scope: Scope, superuser: psycopg.Connection, database_url: str
) -> Iterator[Neighbours]:
    theirs = await user_of(database, "umbrella", "uma")
    fill_every_table(superuser, scope)
    fill_every_table(superuser, theirs)
    with psycopg.connect(database_url, autocommit=True) as app:
        yield Neighbours(app, scope, theirs)


def test_an_account_sees_its_own_rows_only(neighbours: Neighbours, superuser: psycopg.Connection) -> None:
    neighbours.as_account(neighbours.mine.account_id)
    for table in TABLES:
        count = sql.SQL("SELECT count(*) FROM {} WHERE {} = %s").format(qualified(table), account_key(table))
        (mine,) = superuser.execute(count, [neighbours.mine.account_id]).fetchone()
        assert neighbours.rows(table) == mine > 0, table
        assert neighbours.app.execute(count, [neighbours.theirs.account_id]).fetchone() == (0,), table


def test_without_an_account_there_are_no_rows(neighbours: Neighbours) -> None:
    assert {table: neighbours.rows(table) for table in (*TABLES, *VIEWS)} == dict.fromkeys((*TABLES, *VIEWS), 0)
    neighbours.as_account(None)  # what a setting that ended leaves behind: '' and not NULL
    assert {table: neighbours.rows(table) for table in (*TABLES, *VIEWS)} == dict.fromkeys((*TABLES, *VIEWS), 0)


@pytest.mark.parametrize("account", ["mine", None])
def test_rows_of_another_account_cannot_be_written(
    neighbours: Neighbours, superuser: psycopg.Connection, account: str | None
) -> None:
    neighbours.as_account(neighbours.mine.account_id if account else None)
    for table in TABLES:
        columns = superuser.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'cairn' AND table_name = %s"
            " AND is_generated = 'NEVER' AND column_name <> 'id'",
            [table],
        )
        names = sql.SQL(", ").join(sql.Identifier(row.column_name) for row in columns)
        (theirs,) = superuser.execute(
            sql.SQL("SELECT to_jsonb(t)::text FROM {} t WHERE {} = %s").format(qualified(table), account_key(table)),
            [neighbours.theirs.account_id],
        ).fetchone()
        copy = sql.SQL("INSERT INTO {t} ({n}) SELECT {n} FROM jsonb_populate_record(NULL::{t}, %s::jsonb)").format(
            t=qualified(table), n=names
        )
        with pytest.raises(errors.InsufficientPrivilege):
            neighbours.app.execute(copy, [theirs])


def test_rows_of_another_account_cannot_be_changed(neighbours: Neighbours) -> None:
    neighbours.as_account(neighbours.mine.account_id)
    for table, column in UPDATED.items():
        change = sql.SQL("UPDATE {} SET {} = 'x' WHERE account_id = %s")
        changed = neighbours.app.execute(
            change.format(qualified(table), sql.Identifier(column)), [neighbours.theirs.account_id]
        )
        assert changed.rowcount == 0, table
        give_away = sql.SQL("UPDATE {} SET account_id = %s").format(qualified(table))
        with pytest.raises(errors.InsufficientPrivilege):
            neighbours.app.execute(give_away, [neighbours.theirs.account_id])


def test_rows_of_another_account_cannot_be_deleted(neighbours: Neighbours) -> None:
    neighbours.as_account(neighbours.mine.account_id)
    for table in DELETED:
        delete = sql.SQL("DELETE FROM {} WHERE {} = %s").format(qualified(table), account_key(table))
        assert neighbours.app.execute(delete, [neighbours.theirs.account_id]).rowcount == 0, table


@pytest.mark.parametrize("write", ["UPDATE {} SET account_id = account_id", "DELETE FROM {}", "TRUNCATE {}"])
def test_what_was_said_and_done_is_never_rewritten_by_the_application(neighbours: Neighbours, write: str) -> None:
    neighbours.as_account(neighbours.mine.account_id)
    for table in APPEND_ONLY:
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
            neighbours.app.execute(sql.SQL(write).format(qualified(table)))


def test_the_owner_of_the_tables_is_bound_too(neighbours: Neighbours, owner_url: str) -> None:
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("SET ROLE cairn_owner")
        for table in TABLES:
            query = sql.SQL("SELECT count(*) FROM {}").format(qualified(table))
            assert owner.execute(query).fetchone() == (0,)


def test_deleting_a_session_takes_all_its_rows_but_not_what_it_cost(
    neighbours: Neighbours, superuser: psycopg.Connection
) -> None:
    neighbours.as_account(neighbours.mine.account_id)
    neighbours.app.execute("DELETE FROM cairn.sessions")
    left = {table for table in TABLES if table != "accounts" and neighbours.rows(table)}
    assert left == {"users", "api_keys", "model_calls", "idempotency_keys"}
    neighbours.as_account(neighbours.theirs.account_id)
    assert all(neighbours.rows(table) for table in TABLES)
