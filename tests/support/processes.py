"""Other processes in tests: started, watched and ended by their pid; waits poll a condition."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent.parent
# One factor for slow machines, so that no test has a patience of its own.
PATIENCE = float(os.environ.get("CAIRN_TEST_PATIENCE", "1"))


def wait_for(look: Callable[[], T], what: str, seconds: float = 30.0) -> T:
    """Return the first true value that `look` gives. Raises TimeoutError naming what was waited for."""
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        value = look()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError(f"{what} did not happen within {seconds * PATIENCE:.0f} s")


@contextmanager
def running(*command: str, **options) -> Iterator[subprocess.Popen]:
    """Run a program for as long as the block is open; it is killed when it is still there afterwards.

    env adds to the environment of the tests, without the settings of whoever runs them.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    environment = {**inherited, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **{**pipes, **options}) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", module, *arguments)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def children(pid: int) -> set[int]:
    """Return the direct children of a process."""
    lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = (line.split() for line in lines.splitlines())
    return {int(child) for child, parent in pairs if int(parent) == pid}
