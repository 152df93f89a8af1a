"""What the file postmaster.pid in a data folder tells, and whether it is still true."""

import os
from dataclasses import dataclass
from pathlib import Path

import psycopg

PROBE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A server as it described itself; the process may be gone."""

    pid: int
    port: int
    ready: bool


def read_postmaster(data: Path) -> Postmaster | None:
    """Return what the server of a data folder wrote, None when there is none or it is not complete yet."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 8:  # pid, folder, start time, port, socket folder, address, shared memory, status
        return None
    return Postmaster(pid=int(lines[0]), port=int(lines[3]), ready=lines[7].strip() == "ready")


def answers(dsn: str) -> bool:
    """Tell whether our server is behind an address.

    Asked by logging in, because a pid proves nothing (it may be a zombie or used again) and neither does an open port:
    with scram the server too has to know the password.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=PROBE_SECONDS, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def release_zombie(data: Path, own_pid: int) -> bool:
    """Let a new server start although the killed one is still listed as a process, and tell whether that was needed.

    Where nobody reaps orphans (PID 1 of many containers does not) a zombie stays for good, and PostgreSQL takes it for
    a running server. PostgreSQL overlooks the pid of its own parent, so that is written in its place; the lock on the
    shared memory, which protects the data while old server processes still run, stays as it is.
    """
    state = read_postmaster(data)
    if state is None or not _is_zombie(state.pid):
        return False
    file = data / "postmaster.pid"
    lines = file.read_text().splitlines(keepends=True)
    with open(file, "r+") as opened:  # in place: the file keeps its owner and mode
        opened.write("".join([f"{own_pid}\n", *lines[1:]]))
        opened.truncate()
    return True


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return text.rpartition(")")[2].split()[0] == "Z"
