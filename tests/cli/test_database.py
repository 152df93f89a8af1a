"""Which database a command works on, and what it tells about it."""

import subprocess

import pytest

from app.cli.database import connections_wanted, embedded_max_connections, open_database
from app.domain.errors import InvalidInput
from app.settings import Settings
from tests.support.processes import python, running


def test_the_embedded_server_has_room_for_serve_and_one_more_worker():
    settings = Settings(api_workers=8, pool_size=20)
    assert connections_wanted(settings) == 9 * 41
    assert embedded_max_connections(settings) > 10 * 41


@pytest.mark.parametrize(
    ("settings", "app", "owner"),
    [
        ({"database_url": "postgresql://a@h/d"}, "postgresql://a@h/d", "postgresql://a@h/d"),
        (
            {"database_url": "postgresql://a@h/d", "database_direct_url": "postgresql://b@h/d"},
            "postgresql://a@h/d",
            "postgresql://b@h/d",
        ),
        (
            {
                "database_url": "postgresql://a@h/d",
                "database_direct_url": "postgresql://b@h/d",
                "database_owner_url": "postgresql://c@h/d",
            },
            "postgresql://a@h/d",
            "postgresql://c@h/d",
        ),
    ],
)
def test_the_owner_migrates_past_a_pooler(settings, app, owner):
    with open_database(Settings(**settings)) as addresses:
        assert (addresses.app_url, addresses.owner_url, addresses.embedded) == (app, owner, False)


def test_a_password_is_never_part_of_what_is_shown():
    with open_database(Settings(database_url="postgresql://a:hidden@h:5433/d")) as addresses:
        assert addresses.shown == "PostgreSQL at h, database d"


def test_what_is_no_address_is_refused_without_repeating_it():
    with pytest.raises(InvalidInput) as refused, open_database(Settings(database_url="hidden")):
        pass
    assert "hidden" not in refused.value.message


@pytest.mark.faults
def test_two_commands_at_once_on_a_new_home_both_succeed(tmp_path):
    environment = {"CAIRN_HOME": str(tmp_path)}
    command = python("app.cli", "migrate")
    quiet = {"stderr": subprocess.PIPE, "env": environment}
    with running(*command, **quiet) as one, running(*command, **quiet) as other:
        results = [(process.communicate(timeout=100), process.returncode) for process in (one, other)]
    assert [code for _, code in results] == [0, 0], results
