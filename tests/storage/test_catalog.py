"""Rules that every table and function keeps, read from the tables in Python and from what PostgreSQL really has."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
import sqlalchemy as sa

import app.services
from app.storage.tables import metadata

WITHOUT_TENANT = {"accounts", "alembic_version", "model_breakers", "model_capabilities"}
"""Tables whose key does not start with the account: the account itself, the revision the schema stands at, and what
the installation learnt about its model services."""

UNIQUE_WITHOUT_TENANT = {"accounts_pkey", "accounts_name", "alembic_version_pkc", "api_keys_sha256",
                         "model_breakers_pkey", "model_capabilities_pkey"}  # fmt: skip
"""Unique indexes over all accounts: names of accounts, keys, which are looked up before the account is known, and
services with their models."""

FOUND_BY_ACCOUNT_ONLY = {"jobs_account_id_user_id_fkey"}
"""Foreign keys without an index of their own: a user is removed once in a lifetime."""

DEFINERS = {"claim_jobs", "heartbeat_jobs", "reap_jobs", "find_identity", "find_key", "create_account",
            "list_accounts", "find_account", "count_jobs", "orphaned_steps", "forget_old_rows",
            "idle_sessions"}  # fmt: skip


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_every_key_in_python_starts_with_the_account(table: sa.Table) -> None:
    if table.name in WITHOUT_TENANT:
        return
    assert next(iter(table.primary_key.columns)).name == "account_id"
    for key in table.foreign_key_constraints:
        assert key.elements[0].parent.name == "account_id"
        assert key.elements[0].target_fullname in {"cairn.accounts.id", f"{key.referred_table.fullname}.account_id"}


def test_every_key_in_the_database_starts_with_the_account(superuser: psycopg.Connection) -> None:
    keys = superuser.execute("""
        SELECT t.relname AS table, c.conname, c.contype, a.attname AS first,
               r.relname AS target, b.attname AS target_first
          FROM pg_constraint c
          JOIN pg_class t ON t.oid = c.conrelid
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
          LEFT JOIN pg_class r ON r.oid = c.confrelid
          LEFT JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]
         WHERE c.connamespace = 'cairn'::regnamespace AND c.contype IN ('p', 'f')
    """).fetchall()
    wrong = [
        key.conname
        for key in keys
        if key.table not in WITHOUT_TENANT
        and (key.first != "account_id" or (key.target, key.target_first) not in {(None, None), ("accounts", "id"),
                                                                                (key.target, "account_id")})
    ]  # fmt: skip
    assert wrong == []
    assert {key.table for key in keys} >= {table.name for table in metadata.sorted_tables}


def test_every_unique_index_starts_with_the_account(superuser: psycopg.Connection) -> None:
    without = superuser.execute("""
        SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
          LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
         WHERE x.indisunique AND i.relnamespace = 'cairn'::regnamespace AND a.attname IS DISTINCT FROM 'account_id'
    """).fetchall()
    assert {row.relname for row in without} == UNIQUE_WITHOUT_TENANT


def test_every_foreign_key_can_find_its_rows_by_an_index(superuser: psycopg.Connection) -> None:
    """Deleting a session must not scan the tables that hang on it."""
    unsupported = superuser.execute("""
        SELECT c.conrelid::regclass::text AS table, c.conname FROM pg_constraint c
         WHERE c.contype = 'f' AND c.connamespace = 'cairn'::regnamespace AND NOT EXISTS (
               SELECT FROM pg_index x WHERE x.indrelid = c.conrelid AND x.indpred IS NULL AND x.indkey[0] = c.conkey[1]
                  AND (cardinality(c.conkey) = 1 OR x.indkey[1] = c.conkey[2]))
    """).fetchall()
    assert {row.conname for row in unsupported} == FOUND_BY_ACCOUNT_ONLY


def test_every_table_forces_its_policies_on_everybody(superuser: psycopg.Connection) -> None:
    tables = superuser.execute("""
        SELECT relname, relrowsecurity AND relforcerowsecurity AS forced, pg_get_userbyid(relowner) AS owner
          FROM pg_class WHERE relnamespace = 'cairn'::regnamespace AND relkind IN ('r', 'p')
    """).fetchall()
    assert {row.owner for row in tables} == {"cairn_owner"}
    assert {row.relname for row in tables if not row.forced} == {"alembic_version"}
    policies = superuser.execute("SELECT polqual::text AS tree FROM pg_policy").fetchall()
    assert not [policy for policy in policies if "SUBLINK" in policy.tree]


def test_functions_that_look_across_accounts_belong_to_the_system_role_alone(superuser: psycopg.Connection) -> None:
    definers = superuser.execute("""
        SELECT proname, pg_get_userbyid(proowner) AS owner, proconfig,
               has_function_privilege('public', oid, 'EXECUTE') AS open
          FROM pg_proc WHERE pronamespace = 'cairn'::regnamespace AND prosecdef
    """).fetchall()
    assert {row.proname for row in definers} == DEFINERS
    for row in definers:
        assert row.owner == "cairn_system"
        assert "search_path=pg_catalog, pg_temp" in row.proconfig
        assert not row.open


def test_no_role_of_the_application_can_step_over_the_policies(superuser: psycopg.Connection) -> None:
    roles = superuser.execute("SELECT rolname, rolsuper, rolbypassrls, rolcanlogin FROM pg_roles"
                              " WHERE rolname IN ('cairn_app', 'cairn_owner', 'cairn_system')").fetchall()  # fmt: skip
    assert sorted(roles) == [(name, False, False, False) for name in ("cairn_app", "cairn_owner", "cairn_system")]
    (row,) = superuser.execute("SELECT pg_has_role('cairn_app', 'cairn_owner', 'MEMBER') AS owner,"
                               " pg_has_role('cairn_app', 'cairn_system', 'MEMBER') AS system")  # fmt: skip
    assert row == (False, False)


def test_there_is_no_trigger(superuser: psycopg.Connection) -> None:
    assert superuser.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal").fetchall() == []


def test_nothing_that_an_append_changes_is_indexed(superuser: psycopg.Connection) -> None:
    indexed = superuser.execute("""
        SELECT DISTINCT a.attname FROM pg_index x
          JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
         WHERE x.indrelid = 'cairn.sessions'::regclass
    """).fetchall()
    assert {row.attname for row in indexed} == {"account_id", "id", "user_id", "name", "active_hour"}


def test_functions_called_in_one_round_trip_set_the_account_first(superuser: psycopg.Connection) -> None:
    called = set(functions_called_by_tenants())
    assert called
    for name in called:
        (row,) = superuser.execute("SELECT prosrc FROM pg_proc WHERE pronamespace = 'cairn'::regnamespace"
                                   " AND proname = %s", [name])  # fmt: skip
        first = re.search(r"^BEGIN\s+(.+?);", row.prosrc, re.MULTILINE | re.DOTALL)
        assert first is not None
        assert first[1] == "PERFORM set_config('cairn.account_id', p_account::text, true)"


def functions_called_by_tenants() -> Iterator[str]:
    """Follow every `statement(scope)` of the services to the SQL function behind it."""
    for path in Path(app.services.__path__[0]).rglob("*.py"):
        for block in ast.walk(ast.parse(path.read_text())):
            if isinstance(block, ast.AsyncWith) and opens_statement_for_tenant(block):
                for call in calls_with_statement(block):
                    storage = import_module(f"app.storage.{ast.unparse(call.value)}")
                    yield from functions_in(storage, call.attr)


def opens_statement_for_tenant(block: ast.AsyncWith) -> bool:
    opened = [item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call)]
    return any(ast.unparse(call.func).endswith(".statement") and ast.unparse(call.args[0]) != "None" for call in opened)


def calls_with_statement(block: ast.AsyncWith) -> Iterator[ast.Attribute]:
    for call in ast.walk(block):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if [ast.unparse(argument) for argument in call.args[:1]] == ["statement"]:
            yield call.func


def functions_in(storage: ModuleType, name: str) -> Iterator[str]:
    for word in re.findall(r"\b_?[A-Z]{2,}(?:_[A-Z]+)*\b", inspect.getsource(getattr(storage, name))):
        text = getattr(storage, word, None)
        if isinstance(text, str):
            yield from re.findall(r"cairn\.(\w+)\(", text)
