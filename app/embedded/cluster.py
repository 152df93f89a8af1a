"""One PostgreSQL for all processes that share a home folder: whoever comes first runs it, the others attach."""

import threading
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from app.embedded.binaries import find_binaries
from app.embedded.data_folder import SUPERUSER, ClusterFailed
from app.embedded.passwords import Passwords
from app.embedded.postmaster import answers, is_alive, read_postmaster
from app.embedded.privileges import ALL_WAYS, How
from app.embedded.supervisor import Supervisor

POLL_SECONDS = 0.02
STOP_SECONDS = 60.0
DEFAULT_CONNECTIONS = 100


class Cluster:
    """The embedded server of a home folder.

    Started as a context manager or with `start()` and `stop()`. The first process to start runs the server; further
    ones attach, and when the first ends for whatever reason, the next one takes over and starts it again on the same
    port. The server restarts when it dies, and it ends with the process that runs it, even a killed one (on Linux;
    elsewhere the next process finds the server still running and adopts it).
    """

    def __init__(
        self,
        home: Path,
        *,
        pg_bin: Path | None = None,
        max_connections: int = DEFAULT_CONNECTIONS,
        durable: bool = True,
        ways: tuple[How, ...] = ALL_WAYS,
    ) -> None:
        """Prepare; nothing is started yet.

        pg_bin: folder with the programs, found where it is None. ways: how root may hand the server to somebody else.
        durable=False is for tests whose data may be lost when the machine crashes.
        """
        self.folder = home.expanduser().absolute() / "postgres"
        self.passwords = Passwords(self.folder / "passwords")
        self._pg_bin = pg_bin
        self._max_connections = max_connections
        self._durable = durable
        self._ways = ways
        self._supervisor: Supervisor | None = None
        self._port = 0

    @property
    def port(self) -> int:
        return self._port

    @property
    def owned(self) -> bool:
        """True where this process runs the server, false where it only uses it."""
        return self._supervisor is not None and self._supervisor.owner

    @property
    def running(self) -> bool:
        """True where a server of some process is there or on its way, so that `start` need not start one."""
        state = read_postmaster(self.folder / "data")
        return state is not None and is_alive(state.pid)

    @property
    def superuser_dsn(self) -> str:
        return self.dsn(SUPERUSER, "postgres")

    def dsn(self, login: str, database: str) -> str:
        """Return the address of a database for a login, whose password is made on first use."""
        return _dsn(login, self.passwords.ensure(login), self._port, database)

    def accepts(self, login: str, database: str) -> bool:
        """Tell whether a login with its stored password gets into a database."""
        return answers(self.dsn(login, database))

    def start(self, timeout_seconds: float = 300.0) -> None:
        """Return once the server answers. Recovery after a crash may take long, hence the patience.

        Raises: PostgresNotFound, NoUsableUser, WrongVersion, ClusterFailed.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._supervisor = Supervisor(
            self.folder,
            find_binaries(self._pg_bin),
            password=self.passwords.ensure(SUPERUSER),
            max_connections=self._max_connections,
            durable=self._durable,
            ways=self._ways,
        )
        self._supervisor.start()
        try:
            self._port = self._wait_until_it_answers(self._supervisor, timeout_seconds)
        except BaseException:
            self.stop()
            raise
        self._supervisor.keep_port(self._port)

    def stop(self) -> None:
        """End the server if this process runs it; else only let go. Does nothing when it was not started."""
        if self._supervisor is not None:
            self._supervisor.stop(STOP_SECONDS)
            self._supervisor = None

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_until_it_answers(self, supervisor: Supervisor, timeout_seconds: float) -> int:
        password = self.passwords.ensure(SUPERUSER)
        deadline = time.monotonic() + timeout_seconds
        pause = threading.Event()
        supervisor.decided.wait(timeout_seconds)
        while time.monotonic() < deadline:
            if supervisor.failure is not None:
                raise supervisor.failure
            state = read_postmaster(self.folder / "data")
            if state is not None and state.ready and answers(_dsn(SUPERUSER, password, state.port, "postgres")):
                return state.port
            pause.wait(POLL_SECONDS)
        raise ClusterFailed(f"PostgreSQL did not answer within {timeout_seconds:.0f} s; see {self.folder / 'log'}.")


def _dsn(login: str, password: str, port: int, database: str) -> str:
    return f"postgresql://{quote(login)}:{quote(password, safe='')}@127.0.0.1:{port}/{quote(database)}"
