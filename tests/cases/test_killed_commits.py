"""An API process that is killed in the middle of a commit, and a database that goes away under load."""

import itertools
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from tests.support.database import Database
from tests.support.processes import python, running, wait_for
from tests.support.served import Served, serving

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

POINTS = {
    "before anything": "SELECT FROM cairn.sessions FOR UPDATE",
    "before the archive": "LOCK TABLE cairn.archives IN SHARE MODE",
    "before the job": "LOCK TABLE cairn.jobs IN SHARE MODE",
    "before the counters": "LOCK TABLE cairn.sessions IN SHARE MODE",
    "before the answer": None,
}
"""What to lock, so that a commit waits at that point of its transaction; None: it is through, and not answered yet."""

MESSAGES = 12
SESSION = "/api/v1/sessions/talk"


@contextmanager
def api_process(database: Database, port: int) -> Iterator[httpx.Client]:
    """Run one API process and yield a client of it; it is killed when the block ends."""
    environment = {"CAIRN_DATABASE_URL": database.app_url, "CAIRN_PORT": str(port)}
    with (
        running(*python("app.main"), env=environment) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        wait_for(lambda: is_ready(client), "a ready API process", 60)
        yield client
        process.kill()
        process.wait()


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/ready", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.parametrize(("point", "lock"), POINTS.items(), ids=POINTS)
def test_a_commit_that_is_killed_anywhere_happened_whole_or_not_at_all(
    migrated_database: Database, point: str, lock: str | None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    superuser = psycopg.connect(migrated_database.superuser_url, autocommit=True)
    sent = [{"role": "user", "content": f"m{n:02}"} for n in range(MESSAGES)]
    with superuser, ThreadPoolExecutor(1) as pool:
        with api_process(migrated_database, port) as client:
            assert client.post(f"{SESSION}/messages/batch", json={"messages": sent}).status_code == 200
            if lock is None:
                pool.submit(send_commit, port)
                wait_for(lambda: superuser.execute("SELECT FROM cairn.archives").fetchone() is not None, "the archive")
        if lock is not None:
            with superuser.transaction(), api_process(migrated_database, port):
                superuser.execute(lock)
                pool.submit(send_commit, port)
                wait_for(lambda: waits(superuser), f"a commit that waits {point}")
        wait_for(lambda: settled(superuser), "the end of what was killed")
        with api_process(migrated_database, port) as client:
            context = client.get(f"{SESSION}/context").json()["result"]
            details = client.get(SESSION).json()["result"]
            archives = client.get(f"{SESSION}/archives").json()["result"]
        assert [message["parts"][0]["text"] for message in context["messages"]] == [one["content"] for one in sent]
        archived = sum(archive["message_count"] for archive in archives)
        assert (details["message_count"], archived) == ((0, MESSAGES) if lock is None else (MESSAGES, 0))
        assert superuser.execute("SELECT count(*) FROM cairn.jobs").fetchone() == (len(archives),)
        assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


def send_commit(port: int) -> None:
    """Send a commit that perhaps nobody answers."""
    with suppress(httpx.HTTPError):
        httpx.post(f"http://127.0.0.1:{port}{SESSION}/commit", json={}, timeout=60)


def waits(superuser: psycopg.Connection) -> bool:
    return superuser.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() != (0,)


def settled(superuser: psycopg.Connection) -> bool:
    """Return whether nothing of a killed process is left in the database."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn' AND datname = current_database()"
    return superuser.execute(query).fetchone() == (0,)


@dataclass
class Writer:
    """Adds one message after another to a session, each again until it is acknowledged."""

    server: Served
    session: str
    acknowledged: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)

    def write_until(self, stop: threading.Event) -> None:
        path = f"/api/v1/sessions/{self.session}/messages"
        with httpx.Client(base_url=self.server.url, timeout=60) as client:
            for n in itertools.count():
                if stop.is_set():
                    return
                text = f"{self.session}-{n}"
                body = {"role": "user", "content": text, "client_message_id": text}
                wait_for(lambda body=body: self._is_added(client, path, body), "an acknowledged message", 90)
                self.acknowledged.append(text)

    def _is_added(self, client: httpx.Client, path: str, body: dict[str, str]) -> bool:
        reply = client.post(path, json=body)
        self.statuses.add(reply.status_code)
        assert reply.status_code == 200 or "retry-after" in reply.headers, reply.text
        return reply.status_code == 200


def test_a_database_that_restarts_under_load_costs_503_and_no_acknowledged_message(tmp_path) -> None:
    with serving(tmp_path / "home", "--api-workers", "2") as server:
        processes = server.api_processes()
        writers = [Writer(server, f"s{n}") for n in range(6)]
        stop = threading.Event()
        with ThreadPoolExecutor(len(writers)) as pool:
            running_writers = [pool.submit(writer.write_until, stop) for writer in writers]
            try:
                for number in (signal.SIGINT, signal.SIGKILL):
                    wait_for_progress(writers)
                    before = server.postmaster
                    os.kill(before, number)
                    wait_for(lambda before=before: came_back(server, before), "the database", 90)
                wait_for_progress(writers)
            finally:
                stop.set()
            for writer in running_writers:
                writer.result(120)
        assert server.api_processes() == processes
        assert set().union(*(writer.statuses for writer in writers)) == {200, 503}
        for writer in writers:
            shown = server.get(f"/api/v1/sessions/{writer.session}/context?token_budget=1000000")["messages"]
            assert [message["parts"][0]["text"] for message in shown] == writer.acknowledged


def wait_for_progress(writers: list[Writer]) -> None:
    """Wait until every writer has added ten more messages."""
    goals = [len(writer.acknowledged) + 10 for writer in writers]
    wait_for(
        lambda: all(len(writer.acknowledged) >= goal for writer, goal in zip(writers, goals, strict=True)),
        "ten more messages of each writer",
        90,
    )


def came_back(server: Served, before: int) -> bool:
    try:
        return server.postmaster != before and httpx.get(f"{server.url}/ready", timeout=5).status_code == 200
    except (OSError, ValueError, AttributeError, httpx.HTTPError):
        return False
