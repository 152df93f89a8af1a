"""Which database a command works on, and what it tells about it."""

import subprocess
import threading

import psycopg
import pytest
import sqlalchemy

from app.cli.database import connections_wanted, embedded_max_connections, open_database, through_handover
from app.domain.errors import InvalidInput
from app.embedded.cluster import Cluster
from app.settings import Settings
from app.storage.migrations import current, head
from tests.support.processes import python, running, wait_for


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


REFUSED = psycopg.OperationalError("connection refused")


@pytest.mark.parametrize(
    "going",
    [
        REFUSED,
        psycopg.errors.AdminShutdown(),
        psycopg.errors.CannotConnectNow(),
        sqlalchemy.exc.OperationalError("SELECT 1", None, REFUSED),
    ],
)
def test_a_server_on_its_way_from_one_process_to_the_next_is_waited_for(going):
    told = iter([going, going, None])

    def step() -> str:
        if (error := next(told)) is not None:
            raise error
        return "done"

    assert through_handover(step) == "done"


@pytest.mark.parametrize(
    ("error", "seconds"), [(psycopg.errors.InsufficientPrivilege(), 20), (psycopg.errors.DiskFull(), 20), (REFUSED, 0)]
)
def test_what_waiting_does_not_mend_is_raised(error, seconds):
    tries = []

    def step() -> None:
        tries.append(1)
        raise error

    with pytest.raises(type(error)):
        through_handover(step, seconds)
    assert len(tries) == 1


@pytest.mark.faults
def test_a_command_that_attached_to_a_server_survives_its_end(tmp_path):
    """The first one goes right after the second attached, before the second has made or asked anything."""
    first, settings = Cluster(tmp_path), Settings(home=tmp_path)
    first.start()
    stopping = threading.Thread(target=first.stop)
    try:
        with running(*python("app.cli", "migrate"), stderr=subprocess.PIPE, env={"CAIRN_HOME": str(tmp_path)}) as other:
            wait_for(lambda: connected(first), "the second command")
            stopping.start()
            said = other.communicate(timeout=100)
        assert other.returncode == 0, said
    finally:
        stopping.join() if stopping.ident else first.stop()
    with open_database(settings) as addresses:
        assert current(addresses.owner_url) == head()


def connected(cluster: Cluster) -> bool:
    with psycopg.connect(cluster.superuser_dsn, autocommit=True) as connection:
        others = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchone()
    return others is not None and others[0] > 0


@pytest.mark.faults
def test_two_commands_at_once_on_a_new_home_both_succeed(tmp_path):
    environment = {"CAIRN_HOME": str(tmp_path)}
    command = python("app.cli", "migrate")
    quiet = {"stderr": subprocess.PIPE, "env": environment}
    with running(*command, **quiet) as one, running(*command, **quiet) as other:
        results = [(process.communicate(timeout=100), process.returncode) for process in (one, other)]
    assert [code for _, code in results] == [0, 0], results
