"""The API processes of `cairn serve`: started, watched, started again, ended."""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from app.cli.stopping import pause_unless_stopped
from app.domain.errors import Unavailable

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
QUICK_DEATH_SECONDS = 10.0
QUICK_DEATHS = 5
END_SECONDS = 15.0
PROGRAM = (sys.executable, "-P", "-m", "app.main")
PACKAGE = Path(__file__).resolve().parent.parent

log = structlog.get_logger(__name__)


class ApiKeepsDying(Unavailable):
    """An API process ends again and again as soon as it is started; its own words are on standard error."""


class ApiProcesses:
    """Any number of processes that accept on one listening socket, and add up their metrics in one folder.

    Each holds the reading end of a pipe whose writing end only this process has: however this process ends, they read
    the end of the pipe and stop. They are in sessions of their own, so that Ctrl-C reaches them through us.
    """

    def __init__(
        self, listener: socket.socket, environment: Mapping[str, str], program: Sequence[str] = PROGRAM
    ) -> None:
        self._listener = listener
        self._program = program
        # The children run the same code as this process, whatever lies in the folder we were started from (hence -P).
        code = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        self._counts = tempfile.mkdtemp(prefix="cairn-metrics-")
        shared = {"PYTHONPATH": code, "PROMETHEUS_MULTIPROC_DIR": self._counts}
        self._environment = {**os.environ, **environment, **shared}
        self._life_reader, self._life_writer = os.pipe()

    def close(self) -> None:
        """Close the pipe, which also ends whatever process is still there, and remove the folder of the metrics."""
        os.close(self._life_writer)
        os.close(self._life_reader)
        shutil.rmtree(self._counts, ignore_errors=True)

    async def keep_running(self, stop: asyncio.Event) -> None:
        """Keep one process running until `stop` is set, then end it and return. Raises: ApiKeepsDying.

        One that ends with EX_TEMPFAIL waits for the database, and is started again for as long as that takes.
        """
        pause, quick_deaths = FIRST_PAUSE_SECONDS, 0
        while not stop.is_set():
            began = time.monotonic()
            process = await self._spawn()
            if await _stopped_before_end(process, stop):
                await _end(process)
                return
            if process.returncode == os.EX_TEMPFAIL:
                quick_deaths = 0
            elif time.monotonic() - began < QUICK_DEATH_SECONDS:
                quick_deaths += 1
            else:
                pause, quick_deaths = FIRST_PAUSE_SECONDS, 0
            if quick_deaths == QUICK_DEATHS:
                raise ApiKeepsDying(f"The API process ended {QUICK_DEATHS} times in a row right after its start.")
            log.warning("api_process_ended", code=process.returncode, restarts_in_seconds=pause)
            await pause_unless_stopped(pause, stop)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _spawn(self) -> asyncio.subprocess.Process:
        descriptors = (self._listener.fileno(), self._life_reader)
        return await asyncio.create_subprocess_exec(
            *self._program,
            *("--listener-fd", str(descriptors[0]), "--parent-fd", str(descriptors[1])),
            stdin=asyncio.subprocess.DEVNULL,
            env=self._environment,
            pass_fds=descriptors,
            start_new_session=True,
        )


async def _stopped_before_end(process: asyncio.subprocess.Process, stop: asyncio.Event) -> bool:
    waits = {asyncio.ensure_future(process.wait()), asyncio.ensure_future(stop.wait())}
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    return stop.is_set()


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        log.warning("api_process_killed", pid=process.pid)
        process.kill()
        await process.wait()
