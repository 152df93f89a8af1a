"""How commands talk to a running server: over HTTP, like everybody else."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from app.domain.errors import AppError, Unavailable
from app.embedded.home import open_home, recorded_url
from app.settings import Settings

TIMEOUT_SECONDS = 60.0
TRANSFER_SECONDS = 900.0
START_SECONDS = 90.0
END_SECONDS = 30.0
POLL_SECONDS = 0.2
FINISHED = frozenset({"completed", "failed", "cancelled"})


class ServerSaid(AppError):
    """The server refused a request; message and details are its own."""


class ApiClient:
    """The few calls that commands need. Raises ServerSaid for refusals, Unavailable when nobody answers."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url
        headers = {"X-API-Key": key} if key else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def add_messages(self, session_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return self._call(
            "POST", f"/api/v1/sessions/{quote(session_id, safe='')}/messages/batch", {"messages": messages}
        )

    def commit(self, session_id: str, keep_recent_count: int = 0) -> dict[str, Any]:
        return self._call(
            "POST", f"/api/v1/sessions/{quote(session_id, safe='')}/commit", {"keep_recent_count": keep_recent_count}
        )

    def context(self, session_id: str) -> dict[str, Any]:
        return self._call("GET", f"/api/v1/sessions/{quote(session_id, safe='')}/context")

    def has_session(self, session_id: str) -> bool:
        try:
            reply = self._http.get(f"/api/v1/sessions/{quote(session_id, safe='')}")
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.url} does not answer: {error}") from error
        return reply.status_code == httpx.codes.OK

    def import_session(self, session_id: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        path = f"/api/v1/sessions/{quote(session_id, safe='')}/import"
        return self._call("POST", path, content=chunks, timeout=TRANSFER_SECONDS)

    def export_lines(self, session_id: str) -> Iterator[bytes]:
        """Yield the lines of an export as they come, without their ends. The last one may be cut short."""
        path = f"/api/v1/sessions/{quote(session_id, safe='')}/export"
        try:
            with self._http.stream("GET", path, timeout=TRANSFER_SECONDS) as reply:
                if reply.status_code != httpx.codes.OK:
                    reply.read()
                    self._result(path, reply)
                rest = b""
                for chunk in reply.iter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from lines
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.url} does not answer: {error}") from error

    def wait_for_task(self, task_id: str, tick: Callable[[], None]) -> dict[str, Any]:
        """Return a task when it has ended, calling `tick` while it has not."""
        while True:
            task = self._call("GET", f"/api/v1/tasks/{task_id}")
            if task["status"] in FINISHED:
                return task
            tick()
            time.sleep(POLL_SECONDS)

    def is_ready(self) -> bool:
        try:
            return self._http.get("/ready", timeout=5.0).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        try:
            reply = self._http.request(method, path, json=body, **options)
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.url} does not answer: {error}") from error
        return self._result(path, reply)

    def _result(self, path: str, reply: httpx.Response) -> dict[str, Any]:
        try:
            envelope = reply.json()
        except ValueError as error:
            raise ServerSaid(f"{self.url}{path} answered {reply.status_code} without JSON; is it Cairn?") from error
        if envelope.get("status") != "ok":
            problem = envelope.get("error") or {}
            raise ServerSaid(problem.get("message", f"status {reply.status_code}"), problem.get("details"))
        result: dict[str, Any] = envelope["result"]
        return result


@contextmanager
def connected(settings: Settings, url: str | None, key: str | None) -> Iterator[ApiClient]:
    """Yield a client of the given server, else of the one that serves the home, else of one started for the moment.

    Raises: Unavailable.
    """
    if url is not None:
        client = ApiClient(url, key)
        if not client.is_ready():
            raise Unavailable(f"{url} is not ready. Start it with `cairn serve`, or give another --url.")
        yield client
        client.close()
        return
    known = recorded_url(settings.home)
    if known is not None and ApiClient(known, key).is_ready():
        yield ApiClient(known, key)
        return
    with _server_for_now(settings) as started:
        yield ApiClient(started, key)


@contextmanager
def _server_for_now(settings: Settings) -> Iterator[str]:
    home = open_home(settings.home)
    command = [sys.executable, "-P", "-m", "app.cli", "serve", "--port", "0"]
    quiet = {"CAIRN_LOG_LEVEL": "warning", **os.environ}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=quiet) as process:  # noqa: S603 - this program itself
        try:
            yield _wait_until_ready(process, lambda: recorded_url(home))
        finally:
            process.terminate()
            process.wait(END_SECONDS)


def _wait_until_ready(process: "subprocess.Popen[bytes]", find_url: Callable[[], str | None]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Unavailable("The server ended right after its start; what it said stands above.")
        url = find_url()
        if url is not None and ApiClient(url).is_ready():
            return url
        time.sleep(POLL_SECONDS)
    raise Unavailable(f"The server was not ready after {START_SECONDS:.0f} s.")
