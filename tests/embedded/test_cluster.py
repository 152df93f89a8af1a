"""The embedded server starts, is shared, and survives."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from app.embedded import launch
from app.embedded.binaries import PostgresNotFound, find_binaries
from app.embedded.cluster import Cluster
from app.embedded.data_folder import ClusterFailed, WrongVersion
from app.embedded.postmaster import answers, read_postmaster
from app.embedded.privileges import choose_run_as
from app.embedded.server_settings import server_settings
from tests.support.processes import alive, kill, python, running, wait_for

HOLD = "tests.support.hold_cluster"
SYSTEM_15 = Path("/usr/lib/postgresql/15/bin")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a server together with its process")
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def value(cluster: Cluster, query: str):
    with psycopg.connect(cluster.superuser_dsn, autocommit=True) as connection:
        return connection.execute(query).fetchone()[0]


def write_row(cluster: Cluster) -> None:
    with psycopg.connect(cluster.superuser_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        connection.execute("INSERT INTO kept VALUES (1)")


def rows(cluster: Cluster) -> int:
    return value(cluster, "SELECT count(*) FROM kept")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        ("server_encoding", "UTF8"),
        ("password_encryption", "scram-sha-256"),
        ("log_min_error_statement", "panic"),
        ("max_connections", "123"),
    ],
)
def test_the_server_is_durable_local_and_discreet(shared_cluster, setting, expected):
    assert value(shared_cluster, f"SELECT current_setting('{setting}')") == expected


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("shared"), max_connections=123) as cluster:
        yield cluster


def test_chinese_text_has_letters(shared_cluster):
    with psycopg.connect(shared_cluster.superuser_dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        assert connection.execute("SELECT similarity('数据库迁移', '数据库迁移')").fetchone() == (1.0,)


def test_nobody_gets_in_without_the_password(shared_cluster):
    assert not answers(shared_cluster.superuser_dsn.replace(shared_cluster.passwords.get("postgres"), "guessed"))


def test_passwords_are_readable_by_the_owner_only(shared_cluster):
    folder = shared_cluster.folder / "passwords"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_second_start_finds_the_data_on_the_same_port(home):
    with Cluster(home) as first:
        write_row(first)
        port = first.port
    with Cluster(home) as second:
        assert (rows(second), second.port) == (1, port)


def test_a_second_cluster_attaches_and_leaves_the_server_running(home):
    with Cluster(home) as first:
        assert Cluster(home).running
        with Cluster(home) as second:
            assert (first.owned, second.owned, second.port) == (True, False, first.port)
        assert value(first, "SELECT 1") == 1
    assert not Cluster(home).running


def test_whoever_is_attached_takes_over_on_the_same_port(home):
    first, second = Cluster(home), Cluster(home)
    first.start()
    second.start()
    try:
        write_row(first)
        first.stop()
        wait_for(lambda: second.owned and answers(second.superuser_dsn), "the take-over")
        assert rows(second) == 1
    finally:
        second.stop()


def test_starting_twice_at_once_on_a_new_home_makes_one_server(tmp_path):
    with running(*python(HOLD, str(tmp_path))) as one, running(*python(HOLD, str(tmp_path))) as other:
        answers_of_both = [json.loads(process.stdout.readline()) for process in (one, other)]
        assert {answer["owned"] for answer in answers_of_both} == {True, False}
        assert len({answer["port"] for answer in answers_of_both}) == 1
        for process in (one, other):
            process.stdin.close()
        assert [process.wait(30) for process in (one, other)] == [0, 0]


def test_a_killed_server_is_started_again_with_its_data(home):
    with Cluster(home) as cluster:
        write_row(cluster)
        killed = read_postmaster(cluster.folder / "data").pid
        kill(killed)
        wait_for(lambda: answers(cluster.superuser_dsn), "the restart")
        assert read_postmaster(cluster.folder / "data").pid != killed
        assert rows(cluster) == 1


@only_linux
def test_the_server_ends_with_a_killed_process_and_comes_back(home):
    with running(*python(HOLD, str(home))) as holder:
        held = json.loads(holder.stdout.readline())
        cluster = Cluster(home)
        cluster.start()
        write_row(cluster)
        cluster.stop()
        holder.kill()
        holder.wait()
        wait_for(lambda: not alive(held["postmaster"]), "the end of the server")
    with Cluster(home) as again:
        assert rows(again) == 1


def test_both_killed_at_once_recovers(home):
    with running(*python(HOLD, str(home))) as holder:
        held = json.loads(holder.stdout.readline())
        with Cluster(home) as cluster:
            write_row(cluster)
            kill(held["postmaster"])
            holder.kill()
            holder.wait()
            wait_for(lambda: cluster.owned and answers(cluster.superuser_dsn), "the recovery")
            assert rows(cluster) == 1


def test_a_server_left_running_is_adopted_and_ended(home):
    """What a killed process leaves behind where the kernel does not end the server with it."""
    data = home / "postgres" / "data"
    binaries = find_binaries()
    run_as = choose_run_as(binaries, home)
    run_as.own(data)
    settings = server_settings(binaries, port=free_port(), max_connections=20, durable=False)
    options = [part for name, setting in settings.items() for part in ("-c", f"{name}={setting}")]
    command = run_as.command(binaries.program("postgres"), "-D", str(data), *options)
    with running(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as left_alone:
        left = wait_for(lambda: (state := read_postmaster(data)) and state.ready and state, "the server")
        with Cluster(home) as cluster:
            assert (cluster.port, cluster.owned) == (left.port, True)
            write_row(cluster)
        left_alone.wait(30)
    with Cluster(home) as again:
        assert rows(again) == 1


@only_linux
def test_a_killed_server_that_nobody_reaps_does_not_keep_the_next_one_out(home):
    data = home / "postgres" / "data"
    PR_SET_CHILD_SUBREAPER = 36  # noqa: N806
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans come to this process, which waits for none of them
    try:
        with running(*python(HOLD, str(home))) as holder:
            zombie = json.loads(holder.stdout.readline())["postmaster"]
            os.kill(holder.pid, signal.SIGSTOP)
            kill(zombie)
            holder.kill()
            holder.wait()
            assert Path(f"/proc/{zombie}").exists()
            with Cluster(home) as cluster:
                assert value(cluster, "SELECT 1") == 1
                assert read_postmaster(data).pid != zombie
            os.waitpid(zombie, 0)
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_leftovers_of_a_crash_while_the_folder_was_made_are_no_problem(tmp_path):
    leftover = tmp_path / "postgres" / "data.init" / "base"
    leftover.mkdir(parents=True)
    (leftover / "half").write_text("written")
    with Cluster(tmp_path, durable=False) as cluster:
        assert value(cluster, "SELECT 1") == 1
    assert not leftover.exists()


def test_a_taken_port_is_left_to_its_owner(home):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        (home / "postgres" / "port").write_text(str(taken))
        with Cluster(home) as cluster:
            assert cluster.port != taken
            assert value(cluster, "SELECT 1") == 1


def test_a_server_that_cannot_start_is_reported_with_its_own_words(home):
    with (home / "postgres" / "data" / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = on\n")
    with pytest.raises(ClusterFailed, match="no_such_setting"):
        Cluster(home).start()


def test_data_of_another_version_is_left_alone(home):
    version = home / "postgres" / "data" / "PG_VERSION"
    version.write_text("9.6\n")
    with pytest.raises(WrongVersion, match=r"made by PostgreSQL 9\.6"):
        Cluster(home).start()
    assert version.read_text() == "9.6\n"


@pytest.mark.skipif(not SYSTEM_15.is_dir(), reason="PostgreSQL 15 is not installed")
def test_the_programs_of_the_system_serve_as_well(tmp_path):
    with Cluster(tmp_path, pg_bin=SYSTEM_15, durable=False) as cluster:
        assert value(cluster, "SHOW server_version").startswith("15.")


@only_root
@pytest.mark.parametrize("way", ["namespace", "setuid"])
def test_root_can_run_it_in_either_way(home, way):
    with Cluster(home, ways=(way,)) as cluster:
        assert value(cluster, "SELECT 1") == 1
        data = cluster.folder / "data"
        assert (data.stat().st_uid == 0) == (way == "namespace")
    with Cluster(home) as again:  # in the usual way, whoever owned the files before
        assert value(again, "SELECT 1") == 1


@only_root
def test_a_normal_user_can_run_it(home):
    for place, folders, files in os.walk(home):
        for name in (".", *folders, *files):
            os.chown(os.path.join(place, name), 65534, 65534)
    as_nobody = (sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), "setuid", "65534", "65534")
    with running(*as_nobody, *python(HOLD, str(home))) as holder:
        held = json.loads(holder.stdout.readline())
        assert Path(f"/proc/{held['postmaster']}").stat().st_uid == 65534
        holder.stdin.close()
        assert holder.wait(30) == 0


def test_a_folder_without_programs_is_named(home, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(PostgresNotFound, match="no initdb and postgres in it"):
        Cluster(home, pg_bin=empty).start()
