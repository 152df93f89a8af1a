"""Appends straight into PostgreSQL: by pgbench where it is there, else by a loop in Python, which says so."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg

from app.domain.messages import NewMessage
from app.domain.scope import Scope
from app.embedded.binaries import find_binaries
from app.storage import messages
from tests.support.http_load import Load

NAME = "'a-session'"


def append_statement(dsn: str, message: NewMessage, tokens: int) -> str:
    """Return the very call that the product makes, for its default user, with NAME where the session is named."""
    with psycopg.connect(dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        row = connection.execute("SELECT * FROM cairn.find_identity('default', 'default', true)").fetchone()
        assert row is not None
        scope = Scope(row[0], row[1], "default", "default")
        arguments = messages._arguments(scope, NAME.strip("'"), [message], [tokens], create_session=True)
        statement = connection.cursor().mogrify(messages.APPEND, (scope.account_id, *arguments))
    assert NAME in statement
    return " ".join(statement.split())


def find_pgbench() -> Path | None:
    """Return the pgbench of the server's own programs, else the one on the PATH."""
    own = find_binaries().folder / "pgbench"
    found = shutil.which("pgbench")
    return own if own.exists() else Path(found) if found else None


def run_pgbench(program: Path, dsn: str, statement: str, *, sessions: int, connections: int, seconds: int) -> Load:
    """Run the append as prepared statements over some connections; every latency is read from pgbench's log."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "append.sql"
        named = statement.replace(NAME, "'direct-' || :session")
        script.write_text(f"\\set session random(1, {sessions})\n{named};\n")
        options = ("-n", "-M", "prepared", "-c", str(connections), "-j", "2", "-T", str(seconds))
        logs = ("--log", f"--log-prefix={folder}/log", f"--random-seed={sessions}")
        done = subprocess.run(
            [program, *options, *logs, "-f", script, dsn],
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return Load(float(seconds), list(_latencies(Path(folder))))


def _latencies(folder: Path) -> Iterator[float]:
    for log in folder.glob("log*"):
        for line in log.read_text().splitlines():
            yield int(line.split()[2]) / 1e6


async def run_python(dsn: str, statement: str, *, sessions: int, connections: int, seconds: int) -> Load:
    """Do the same from Python, which is slower than pgbench: the ratio to HTTP then flatters HTTP."""
    load = Load()
    named = statement.replace("%", "%%").replace(NAME, "'direct-' || %s")
    deadline = time.perf_counter() + seconds

    async def one(number: int) -> None:
        dice = Random(number)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            while (began := time.perf_counter()) < deadline:
                await connection.execute(named, [dice.randint(1, sessions)], prepare=True)
                load.latencies.append(time.perf_counter() - began)

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(connections)))
    load.seconds = time.perf_counter() - started
    return load
