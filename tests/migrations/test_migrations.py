"""Migrations tell the truth: head is head, tables are what the code thinks, and every step goes back and forth."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import psycopg
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from app.storage import migrations
from tests.architecture.source_tree import ROOT
from tests.support.database import Database

REVISIONS = [script.revision for script in ScriptDirectory.from_config(migrations.config()).walk_revisions()]


def _objects(url: str) -> list[tuple[str, ...]]:
    """Return tables, columns, indexes, constraints, functions and grants of the schema, as text."""
    queries = [
        "SELECT 'column', table_name, column_name, data_type, is_nullable, coalesce(column_default, '')"
        " FROM information_schema.columns WHERE table_schema = 'cairn'",
        "SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'cairn'",
        "SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'cairn'::regnamespace",
        "SELECT 'function', oid::regprocedure::text, proowner::regrole::text, md5(prosrc), coalesce(proacl::text, '')"
        " FROM pg_proc WHERE pronamespace = 'cairn'::regnamespace",
        "SELECT 'policy', tablename, policyname, roles::text, qual FROM pg_policies WHERE schemaname = 'cairn'",
        "SELECT 'table', relname, relowner::regrole::text, relrowsecurity::text, relforcerowsecurity::text,"
        " (SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(relacl) a)"
        " FROM pg_class WHERE relnamespace = 'cairn'::regnamespace AND relkind IN ('r', 'v')",
    ]
    with psycopg.connect(url) as connection:
        return sorted(
            tuple(str(value) for value in row) for query in queries for row in connection.execute(query).fetchall()
        )


def test_the_chain_has_one_head_and_git_would_notice_a_second() -> None:
    assert (ROOT / "migrations" / "HEAD").read_text().strip() == migrations.head()


def test_revisions_say_why_and_in_which_phase() -> None:
    for script in ScriptDirectory.from_config(migrations.config()).walk_revisions():
        assert "Phase: " in (script.module.__doc__ or ""), script.revision


def test_tables_in_code_are_the_tables_in_the_database(fresh_database: Database) -> None:
    migrations.upgrade(fresh_database.owner_url)
    migrations.check(fresh_database.owner_url)


def test_every_revision_goes_up_down_and_up_again(fresh_database: Database) -> None:
    url = fresh_database.owner_url
    for revision in reversed(REVISIONS):
        migrations.upgrade(url, revision)
        before = _objects(fresh_database.superuser_url)
        down = ScriptDirectory.from_config(migrations.config()).get_revision(revision).down_revision
        migrations.downgrade(url, str(down or "base"))
        migrations.upgrade(url, revision)
        assert _objects(fresh_database.superuser_url) == before, revision
    assert migrations.current(url) == migrations.head()


def test_migrating_twice_at_once_is_migrating_once(fresh_database: Database) -> None:
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        reached = list(pool.map(migrations.upgrade, [fresh_database.owner_url] * 4))
    assert set(reached) == {migrations.head()}
    assert migrations.current(fresh_database.owner_url) == migrations.head()


def test_a_database_before_its_first_migration_says_so(fresh_database: Database) -> None:
    assert migrations.current(fresh_database.owner_url) is None


def test_the_application_cannot_migrate(fresh_database: Database) -> None:
    with pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
        migrations.upgrade(fresh_database.app_url)
