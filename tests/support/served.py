"""A `cairn serve` in a process of its own, on a home of its own, for tests from outside."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.embedded.postmaster import read_postmaster
from tests.support.processes import children, python, running, wait_for

READY_SECONDS = 60


@dataclass(frozen=True)
class Served:
    """A running server: its process, its home and its address."""

    process: subprocess.Popen
    home: Path
    url: str

    @property
    def postmaster(self) -> int:
        return read_postmaster(self.home / "postgres" / "data").pid

    def api_processes(self) -> set[int]:
        return children(self.process.pid) - {self.postmaster}

    def processes(self) -> set[int]:
        """Return the pids of all that belongs to the server."""
        return {self.process.pid, self.postmaster} | self.api_processes()

    def post(self, path: str, body: dict) -> dict:
        reply = httpx.post(f"{self.url}{path}", json=body, timeout=30)
        reply.raise_for_status()
        return reply.json()["result"]

    def get(self, path: str) -> dict:
        reply = httpx.get(f"{self.url}{path}", timeout=30)
        reply.raise_for_status()
        return reply.json()["result"]


@contextmanager
def serving(home: Path, *options: str, **environment: str) -> Iterator[Served]:
    """Run `cairn serve` until the block ends; whoever is left then is killed. Its output goes to HOME/output."""
    home.mkdir(parents=True, exist_ok=True)
    with (
        (home / "output").open("ab") as output,
        running(
            *python("app.cli", "serve", "--port", "0", *options),
            stdout=output,
            stderr=output,
            env={"CAIRN_HOME": str(home), **environment},
        ) as process,
    ):
        url = wait_for(lambda: _ready(process, home), "a ready server", READY_SECONDS)
        server = Served(process, home, url)
        yield server
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def _ready(process: subprocess.Popen, home: Path) -> str | None:
    assert process.poll() is None, (home / "output").read_text()
    note = home / "serve.json"
    try:
        holder = json.loads(note.read_text())
        url = holder["url"] if holder["pid"] == process.pid else None
        return url if url and httpx.get(f"{url}/ready", timeout=5).status_code == 200 else None
    except (FileNotFoundError, ValueError, httpx.HTTPError):
        return None
