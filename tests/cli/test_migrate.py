"""`cairn migrate` brings any database to this release."""

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.storage.migrations import current, head


def test_an_empty_database_gets_every_revision(cairn, fresh_database):
    done = cairn("migrate", database_url=fresh_database.app_url, database_owner_url=fresh_database.owner_url)
    assert done.exit_code == 0, done.stderr
    assert f"revision {head()}" in done.output
    assert current(fresh_database.owner_url) == head()


def test_a_second_run_changes_nothing(cairn, migrated_database):
    for _ in range(2):
        done = cairn("migrate", "--create-roles", database_url=migrated_database.superuser_url)
        assert done.exit_code == 0, done.stderr


def test_a_login_that_may_not_make_roles_is_told_what_to_use(cairn, migrated_database):
    refused = cairn("migrate", "--create-roles", database_url=migrated_database.app_url)
    assert refused.exit_code == 1
    assert "CAIRN_DATABASE_OWNER_URL" in refused.stderr


def test_no_password_is_shown(cairn, migrated_database):
    done = cairn("migrate", database_url=migrated_database.owner_url)
    assert "only-for-tests" not in done.output + done.stderr


def test_the_login_of_the_app_may_not_migrate_and_says_so(cairn, fresh_database):
    refused = cairn("migrate", database_url=fresh_database.app_url)
    assert refused.exit_code == 1
    assert "CAIRN_DATABASE_OWNER_URL" in refused.stderr


def test_the_login_of_the_app_suffices_where_nothing_is_to_do(cairn, migrated_database):
    assert cairn("migrate", database_url=migrated_database.app_url).exit_code == 0


def test_a_superuser_alone_is_enough_for_an_empty_cluster(cairn, fresh_database):
    done = cairn("migrate", database_url=fresh_database.superuser_url)
    assert done.exit_code == 0, done.stderr
    assert current(fresh_database.superuser_url) == head()


def test_the_login_of_the_app_is_made_with_the_roles(cairn, fresh_database):
    parts = conninfo_to_dict(fresh_database.superuser_url)
    app = make_conninfo(**{**parts, "user": "cairn_made_by_test", "password": "only-for-tests"})
    try:
        done = cairn("migrate", "--create-roles", database_url=app, database_owner_url=fresh_database.superuser_url)
        assert done.exit_code == 0, done.stderr
        with psycopg.connect(app) as connection:
            assert connection.execute("SELECT count(*) FROM cairn.sessions").fetchone() == (0,)
    finally:
        with psycopg.connect(fresh_database.superuser_url, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS cairn_made_by_test")
