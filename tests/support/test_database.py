"""The databases of the tests themselves: shared, emptied, and found without being asked for."""

import fcntl
import os
import socket
import threading
import time

import psycopg
import pytest

from tests.support.database import describe_server, docker_socket, remove_leftovers


@pytest.mark.parametrize("run", ["first", "second"])
def test_what_a_test_commits_is_gone_in_the_next(superuser_url, run):
    with psycopg.connect(superuser_url) as connection:
        assert connection.execute("SELECT count(*) FROM cairn.accounts").fetchone() == (0,)
        connection.execute("INSERT INTO cairn.accounts (name) VALUES (%s)", [run])


def test_the_login_of_the_app_is_bound_and_the_owner_is_no_superuser(database_url, owner_url):
    for url in (database_url, owner_url):
        with psycopg.connect(url) as connection:
            flags = connection.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
            assert flags.fetchone() == (False, False)


def test_a_fresh_database_is_empty(fresh_database):
    with psycopg.connect(fresh_database.owner_url) as connection:
        assert connection.execute("SELECT to_regnamespace('cairn')").fetchone() == (None,)


def test_only_loopback_is_reachable():
    with pytest.raises(RuntimeError, match=r"192\.0\.2\.1"), pytest.warns(UserWarning, match="connect"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)


@pytest.mark.parametrize(
    ("reply", "found"), [(b"HTTP/1.0 200 OK\r\n\r\nOK", True), (b"HTTP/1.0 500 No\r\n\r\n", False)]
)
def test_an_engine_counts_when_it_answers(tmp_path, monkeypatch, reply, found):
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()

        def answer_once() -> None:
            connection, _ = engine.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(reply)

        thread = threading.Thread(target=answer_once)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        assert docker_socket() == (path if found else None)
        thread.join()


def test_a_dead_socket_is_no_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'nothing'}")
    assert docker_socket() is None
    assert "embedded" in describe_server()


def test_folders_of_killed_runs_are_removed_and_used_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name, age in (("killed", 3600), ("used", 3600), ("starting", 0)):
        folder = tmp_path / f"cairn-tests-{name}"
        folder.mkdir()
        (folder / "users.lock").touch()
        then = time.time() - age
        os.utime(folder, (then, then))
    with (tmp_path / "cairn-tests-used" / "users.lock").open() as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        remove_leftovers()
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["cairn-tests-starting", "cairn-tests-used"]
