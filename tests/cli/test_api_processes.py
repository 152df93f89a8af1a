"""API processes come back when they die, and go when they should."""

import asyncio
import os
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.cli import api_processes
from app.cli.api_processes import ApiKeepsDying, ApiProcesses
from tests.support.processes import alive, kill, wait_for

# Writes its pid to the socket's owner by way of a file, then waits for the end of the pipe, as the real one does.
PROGRAM = (
    "import os, sys\n"
    "open(os.path.join(os.environ['NOTES'], str(os.getpid())), 'w').close()\n"
    "os.read(int(sys.argv[4]), 1)\n"
)


@pytest.fixture
def processes(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(ApiProcesses(listener, {"NOTES": str(tmp_path)}, (sys.executable, "-c", PROGRAM))) as processes,
    ):
        yield processes


async def started(notes, how_many: int) -> set[int]:
    def pids() -> set[int]:
        return {int(note.name) for note in notes.iterdir()}

    await asyncio.to_thread(wait_for, lambda: len(pids()) >= how_many, f"the start of process {how_many}")
    return pids()


async def test_a_killed_process_is_started_again(processes, tmp_path):
    stop = asyncio.Event()
    keeping = asyncio.create_task(processes.keep_running(stop))
    [first] = await started(tmp_path, 1)
    kill(first)
    both = await started(tmp_path, 2)
    stop.set()
    await keeping
    assert not any(alive(pid) for pid in both)


async def test_all_end_when_the_pipe_is_closed(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        processes = ApiProcesses(listener, {"NOTES": str(tmp_path)}, (sys.executable, "-c", PROGRAM))
        keeping = asyncio.create_task(processes.keep_running(asyncio.Event()))
        [pid] = await started(tmp_path, 1)
        processes.close()
        await asyncio.to_thread(wait_for, lambda: not alive(pid), "the end of the process")
        keeping.cancel()
        await asyncio.wait([keeping])


@pytest.mark.faults
async def test_one_that_always_dies_at_once_is_given_up(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(ApiProcesses(listener, {}, (sys.executable, "-c", "raise SystemExit(3)"))) as processes,
        pytest.raises(ApiKeepsDying, match="5 times in a row"),
    ):
        await processes.keep_running(asyncio.Event())


async def test_one_that_waits_for_the_database_is_never_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(api_processes, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(api_processes, "LONGEST_PAUSE_SECONDS", 0.01)
    program = PROGRAM.replace(
        "os.read", f"len(os.listdir(os.environ['NOTES'])) > 7 or sys.exit({os.EX_TEMPFAIL})\nos.read"
    )
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(ApiProcesses(listener, {"NOTES": str(tmp_path)}, (sys.executable, "-c", program))) as processes,
    ):
        stop = asyncio.Event()
        keeping = asyncio.create_task(processes.keep_running(stop))
        assert len(await started(tmp_path, 8)) == 8
        stop.set()
        await keeping


def there(folder: str) -> bool:
    return Path(folder).is_dir()


async def test_all_add_up_their_metrics_in_one_folder_that_goes_with_them(tmp_path):
    note = "import os, sys\nopen(os.environ['NOTE'], 'w').write(os.environ['PROMETHEUS_MULTIPROC_DIR'])\n"
    program = (sys.executable, "-c", note + "os.read(int(sys.argv[4]), 1)\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        processes = ApiProcesses(listener, {"NOTE": str(tmp_path / "note")}, program)
        stop = asyncio.Event()
        keeping = asyncio.create_task(processes.keep_running(stop))
        folder = await asyncio.to_thread(
            wait_for, lambda: (tmp_path / "note").exists() and (tmp_path / "note").read_text(), "the note"
        )
        assert there(folder)
        stop.set()
        await keeping
        processes.close()
    assert not there(folder)
