"""One command serves everything, and nothing that happens to its processes loses or leaves anything."""

import os
import signal
import socket
import subprocess

import httpx
import psycopg
import pytest

from app.embedded.home import recorded_url
from tests.support.processes import alive, kill, python, running, wait_for
from tests.support.served import serving

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


def run(home, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "CAIRN_HOME": str(home), "COLUMNS": "200"}
    return subprocess.run(python("app.cli", *arguments), capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


def gone(pids: set[int]) -> bool:
    return not any(alive(pid) for pid in pids)


def test_it_says_where_it_is_and_what_it_uses(server):
    shown = wait_for(lambda: "stop" in (text := (server.home / "output").read_text()) and text, "the announcement")
    for part in (server.url, "extractive", "embedded PostgreSQL", "Ctrl-C"):
        assert part in shown


def test_a_second_one_on_the_same_home_names_the_first_and_goes(server):
    second = run(server.home, "serve", "--port", "0")
    assert second.returncode == 1
    assert f"pid {server.process.pid}" in second.stderr
    assert server.url in second.stderr
    assert "Traceback" not in second.stderr


def test_other_commands_use_its_database(server):
    postmaster = server.postmaster
    assert run(server.home, "doctor", "--deep").returncode == 0
    assert run(server.home, "migrate").returncode == 0
    assert server.postmaster == postmaster


def test_a_killed_api_process_is_replaced_and_nobody_notices(server):
    before = wait_for(lambda: len(found := server.api_processes()) >= 1 and found, "the API processes")
    kill(min(before))
    wait_for(lambda: server.api_processes() - before, "a new API process")
    assert httpx.get(f"{server.url}/ready", timeout=30).status_code == 200


def test_a_killed_database_server_comes_back_under_the_running_server(server):
    killed = server.postmaster
    kill(killed)
    wait_for(lambda: _status(f"{server.url}/ready") == 200 and server.postmaster != killed, "the recovery", 60)
    # Pools find their broken connections by using them: 503 asks the caller to send the request again.
    path, message = "/api/v1/sessions/after-the-kill/messages", {"role": "user", "content": "still here"}
    wait_for(lambda: httpx.post(f"{server.url}{path}", json=message, timeout=30).status_code == 200, "an answer")


def test_the_demo_shows_a_working_memory(server):
    shown = run(server.home, "demo")
    assert shown.returncode == 0, shown.stderr
    for part in ("Working memory", "Open Issues", "5432", "live messages"):
        assert part in shown.stdout


def test_an_import_can_be_repeated_without_doubling_anything(server, tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(f'{{"role": "user", "content": "message {n}"}}\n' for n in range(230)))
    for _ in range(2):
        done = run(server.home, "import", str(file), "--session", "imported")
        assert done.returncode == 0, done.stderr
    assert server.get("/api/v1/sessions/imported")["message_count"] == 230


def test_sigterm_ends_everything_in_good_order(tmp_path):
    with serving(tmp_path / "home") as server:
        everything = server.processes()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        said = (server.home / "output").read_text()
        assert f"Starting PostgreSQL in {server.home / 'postgres'}" in said
        assert said.count("Stopping …") == 1
        wait_for(lambda: gone(everything), "the end of all processes")
        assert recorded_url(server.home) is None


def test_a_killed_parent_leaves_no_process_and_loses_no_message(tmp_path):
    with serving(tmp_path / "home") as server:
        everything = server.processes()
        for n in range(20):
            server.post("/api/v1/sessions/kept/messages", {"role": "user", "content": f"message {n}"})
        server.process.kill()
        server.process.wait()
        wait_for(lambda: gone(everything), "the end of all processes")
    with serving(tmp_path / "home") as again:
        assert again.get("/api/v1/sessions/kept")["message_count"] == 20


def test_everything_killed_at_once_loses_no_message(tmp_path):
    with serving(tmp_path / "home") as server:
        for n in range(20):
            server.post("/api/v1/sessions/kept/messages", {"role": "user", "content": f"message {n}"})
        for pid in server.processes():
            kill(pid)
        server.process.wait()
    with serving(tmp_path / "home") as again:
        assert again.get("/api/v1/sessions/kept")["message_count"] == 20


def test_a_taken_port_is_said_before_anything_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = run(tmp_path, "serve", "--port", str(port))
    assert refused.returncode == 1
    assert f"Port {port} of 127.0.0.1 is taken" in refused.stderr
    assert not (tmp_path / "postgres").exists()


def test_without_a_worker_jobs_wait_for_one(tmp_path):
    with serving(tmp_path / "home", "--no-worker") as server:
        server.post("/api/v1/sessions/waiting/messages", {"role": "user", "content": "Remember the port 5432."})
        task = server.post("/api/v1/sessions/waiting/commit", {"keep_recent_count": 0})["task_id"]
        assert server.get(f"/api/v1/tasks/{task}")["status"] == "pending"
        with running(*python("app.cli", "worker"), env={"CAIRN_HOME": str(server.home)}) as worker:
            wait_for(lambda: server.get(f"/api/v1/tasks/{task}")["status"] == "completed", "the work", 60)
            worker.terminate()
            assert worker.wait(60) == 0
        assert server.get("/api/v1/sessions/waiting")["total_message_count"] == 1


def test_a_database_of_ones_own_is_used_instead(tmp_path, migrated_database):
    with serving(tmp_path / "home", CAIRN_DATABASE_URL=migrated_database.app_url) as server:
        server.post("/api/v1/sessions/elsewhere/messages", {"role": "user", "content": "hello"})
        assert not (server.home / "postgres").exists()
    with psycopg.connect(migrated_database.superuser_url) as connection:
        assert connection.execute("SELECT count(*) FROM cairn.messages").fetchone() == (1,)


def _status(url: str) -> int:
    try:
        return httpx.get(url, timeout=30).status_code
    except httpx.HTTPError:
        return 0
