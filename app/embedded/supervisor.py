"""The thread that starts the server, waits for its end and starts it again."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import structlog

from app.domain.errors import AppError
from app.embedded.binaries import Binaries
from app.embedded.data_folder import ClusterFailed, ensure_data_folder, server_environment
from app.embedded.owner_lock import OwnerLock
from app.embedded.postmaster import Postmaster, is_alive, read_postmaster, release_zombie
from app.embedded.privileges import How, NoUsableUser, RunAs, choose_run_as, copy_binaries
from app.embedded.server_settings import server_settings

POLL_SECONDS = 0.25
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
HEALTHY_SECONDS = 10.0
UNEXPLAINED_DEATHS = 3
LARGEST_LOG_BYTES = 10_000_000
PORT_TAKEN = ("Address already in use", "could not create any TCP/IP sockets")
PREDECESSOR_STILL_THERE = ('lock file "postmaster.pid" already exists', "pre-existing shared memory block")

log = structlog.get_logger(__name__)


class Supervisor(threading.Thread):
    """Runs the server of a folder while it holds the folder's lock; waits for the lock while another process does.

    One thread for all of it, because Linux ends the server when the *thread* that started it ends, and because a server
    that nobody waits for stays a zombie that keeps the next one from starting.
    """

    def __init__(
        self,
        folder: Path,
        binaries: Binaries,
        *,
        password: str,
        max_connections: int,
        durable: bool,
        ways: tuple[How, ...],
    ) -> None:
        super().__init__(name="cairn-postgres", daemon=True)
        self.failure: AppError | None = None
        self.owner = False
        self.decided = threading.Event()
        self._folder = folder
        self._data = folder / "data"
        self._binaries = binaries
        self._password = password
        self._max_connections = max_connections
        self._durable = durable
        self._ways = ways
        self._port: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._starting = threading.Lock()

    def keep_port(self, port: int) -> None:
        """Use this port for every later start, because others know it by now."""
        self._port = port

    def stop(self, timeout_seconds: float) -> None:
        """End the server if it is ours, gently first; return when it is gone."""
        with self._starting:  # a server that is just being started must not be missed
            self._ending.set()
        for signal_number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if self._process is not None and self._process.returncode is None:
                self._process.send_signal(signal_number)
            self.join(timeout_seconds if signal_number == signal.SIGINT else 5.0)
            if not self.is_alive():
                return
        raise ClusterFailed(f"PostgreSQL did not end; see {self._folder / 'log'}.")

    def run(self) -> None:
        lock = OwnerLock(self._folder / "owner.lock")
        try:
            while not self._ending.is_set():
                self.owner = lock.acquire_now()
                self.decided.set()
                if self.owner:
                    lock.write(str(os.getpid()))
                    self._keep_running()
                    self._end_orphan()
                else:
                    self._ending.wait(POLL_SECONDS)
        except AppError as error:
            self._give_up(error)
        except (OSError, subprocess.SubprocessError) as error:
            self._give_up(ClusterFailed(f"PostgreSQL cannot be run: {error}"))
        finally:
            lock.release()

    def _give_up(self, failure: AppError) -> None:
        self.failure = failure
        if self._port is not None:  # whoever waited for the start hears of it; later nobody waits
            log.error("postgres_given_up", reason=failure.message)

    def _keep_running(self) -> None:
        run_as = self._prepare()
        pause, unexplained = FIRST_PAUSE_SECONDS, 0
        while not self._ending.is_set():
            orphan = self._orphan()
            if orphan is not None:
                self._watch(orphan)
                continue
            began = time.monotonic()
            words = self._run_once(run_as)
            if self._ending.is_set():
                return
            if time.monotonic() - began > HEALTHY_SECONDS:
                pause, unexplained = FIRST_PAUSE_SECONDS, 0
            unexplained += self._is_unexplained(words)
            if unexplained >= UNEXPLAINED_DEATHS and self._port is None:
                raise ClusterFailed(f"PostgreSQL does not start. Its last words:\n{words[-2000:].strip()}")
            log.warning("postgres_ended", restarts_in_seconds=pause)
            self._ending.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _prepare(self) -> RunAs:
        try:
            run_as = choose_run_as(self._binaries, self._folder, self._ways)
        except NoUsableUser:
            self._binaries = copy_binaries(self._binaries, self._folder)
            run_as = choose_run_as(self._binaries, self._folder, self._ways)
        ensure_data_folder(self._data, self._binaries, run_as, self._password)
        return run_as

    def _run_once(self, run_as: RunAs) -> str:
        """Run the server until it ends and return what it wrote to its log."""
        if release_zombie(self._data, os.getpid()):
            log.info("postgres_lock_of_zombie_released")
        path = self._folder / "log"
        if path.exists() and path.stat().st_size > LARGEST_LOG_BYTES:
            path.replace(path.with_name("log.old"))
        with open(path, "ab") as output:
            offset = output.tell()
            with self._starting:
                if self._ending.is_set():
                    return ""
                self._process = subprocess.Popen(  # noqa: S603 - a program of PostgreSQL, found by `binaries`
                    self._command(run_as),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=server_environment(),
                    start_new_session=True,  # Ctrl-C at the terminal is for us; we end the server when we are done
                )
            self._process.wait()
        with open(path, "rb") as written:
            written.seek(offset)
            return written.read().decode(errors="replace")

    def _command(self, run_as: RunAs) -> list[str]:
        settings = server_settings(
            self._binaries,
            port=self._port or self._stored_port(),
            max_connections=self._max_connections,
            durable=self._durable,
        )
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return run_as.command(self._binaries.program("postgres"), "-D", str(self._data), *arguments)

    def _is_unexplained(self, words: str) -> bool:
        if any(sign in words for sign in PORT_TAKEN):
            if self._port is None:
                (self._folder / "port").write_text(str(_free_port()))
            return False
        return not any(sign in words for sign in PREDECESSOR_STILL_THERE)

    def _stored_port(self) -> int:
        """Return the port of last time, so that addresses people noted stay right, or a free one the first time."""
        file = self._folder / "port"
        try:
            return int(file.read_text())
        except (FileNotFoundError, ValueError):
            port = _free_port()
            file.write_text(str(port))
            return port

    def _orphan(self) -> Postmaster | None:
        """Return a server that runs on our data although the process that started it is gone."""
        state = read_postmaster(self._data)
        return state if state is not None and state.ready and is_alive(state.pid) else None

    def _watch(self, orphan: Postmaster) -> None:
        log.info("postgres_adopted", pid=orphan.pid)
        while self._orphan() == orphan and not self._ending.is_set():
            self._ending.wait(POLL_SECONDS)

    def _end_orphan(self) -> None:
        orphan = self._orphan()
        if orphan is not None:
            _interrupt(orphan.pid)
            pause = threading.Event()
            while is_alive(orphan.pid):
                pause.wait(POLL_SECONDS)


def _interrupt(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGINT)
    except ProcessLookupError:
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
