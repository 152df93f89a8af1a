"""`cairn doctor` finds what is wrong and says what to do."""

import psycopg
import pytest

from tests.support.database import Database


def lines(result) -> list[str]:
    return [line for line in result.output.splitlines() if line.startswith(("ok", "warn", "fail"))]


def line(result, subject: str) -> str:
    return next(line for line in lines(result) if subject in line)


def test_a_sound_installation_passes(cairn, migrated_database: Database):
    done = cairn("doctor", database_url=migrated_database.app_url, database_owner_url=migrated_database.owner_url)
    assert done.exit_code == 0, done.output
    assert not [found for found in lines(done) if found.startswith("fail")]
    for subject in ("version", "text", "extension vector", "roles", "login of the app", "migrations", "connections"):
        assert line(done, subject).startswith("ok")
    assert "o200k_base" in line(done, "tokenizer")
    assert "extractive" in line(done, "provider")


def test_missing_migrations_fail_and_name_the_command(cairn, fresh_database: Database):
    done = cairn("doctor", database_url=fresh_database.app_url, database_owner_url=fresh_database.owner_url)
    assert done.exit_code == 1
    assert line(done, "migrations").startswith("fail")
    assert "cairn migrate" in line(done, "migrations")


def test_a_superuser_as_the_login_of_the_app_is_a_warning(cairn, migrated_database: Database):
    done = cairn("doctor", database_url=migrated_database.superuser_url)
    assert done.exit_code == 0
    assert line(done, "login of the app").startswith("warn")


def test_a_login_outside_the_role_of_the_app_fails(cairn, migrated_database: Database):
    done = cairn("doctor", database_url=migrated_database.owner_url)
    assert done.exit_code == 1
    assert "GRANT cairn_app" in line(done, "login of the app")


def test_more_connections_than_the_server_has_fail(cairn, migrated_database: Database):
    done = cairn("doctor", database_url=migrated_database.app_url, pool_size="200", api_workers="4")
    assert done.exit_code == 1
    assert "CAIRN_POOL_SIZE" in line(done, "connections")


def test_an_unknown_tokenizer_fails(cairn, migrated_database: Database):
    done = cairn("doctor", database_url=migrated_database.app_url, tokenizer="no-such-model")
    assert done.exit_code == 1
    assert line(done, "tokenizer").startswith("fail")


def test_a_model_service_that_is_not_there_fails(cairn, migrated_database: Database):
    done = cairn(
        "doctor", database_url=migrated_database.app_url, model_name="m", model_base_url="http://127.0.0.1:1/v1"
    )
    assert done.exit_code == 1
    assert "CAIRN_MODEL_BASE_URL" in line(done, "provider")


def test_a_database_that_cannot_be_reached_is_the_finding(cairn):
    done = cairn("doctor", database_url="postgresql://nobody@127.0.0.1:1/none")
    assert done.exit_code == 1
    assert line(done, "database").startswith("fail")
    assert line(done, "tokenizer").startswith("ok")


@pytest.mark.parametrize("deep", [True, False])
def test_a_counter_that_differs_from_its_rows_is_found_by_looking_deep(cairn, migrated_database: Database, deep):
    with psycopg.connect(migrated_database.superuser_url) as connection:
        account = connection.execute("INSERT INTO cairn.accounts (name) VALUES ('a') RETURNING id").fetchone()[0]
        user = connection.execute(
            "INSERT INTO cairn.users (account_id, name) VALUES (%s, 'u') RETURNING id", [account]
        ).fetchone()[0]
        connection.execute(
            "INSERT INTO cairn.sessions (account_id, user_id, name, last_seq) VALUES (%s, %s, 's', 3)", [account, user]
        )
    urls = {"database_url": migrated_database.app_url, "database_owner_url": migrated_database.owner_url}
    done = cairn("doctor", *(["--deep"] if deep else []), **urls)
    assert done.exit_code == int(deep)
    assert ("counters differ from a recount" in done.output) == deep


def test_looking_deep_needs_the_login_of_the_owner(cairn, migrated_database: Database):
    done = cairn("doctor", "--deep", database_url=migrated_database.app_url)
    assert done.exit_code == 0
    assert "CAIRN_DATABASE_OWNER_URL" in line(done, "recount")
