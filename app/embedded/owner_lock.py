"""A lock that one process holds until it ends, however it ends."""

import fcntl
import os
from pathlib import Path
from typing import IO


class OwnerLock:
    """An flock on a file whose content says who holds it; the kernel lets go when the holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire_now(self) -> bool:
        """Take the lock and tell whether that worked; never waits."""
        file = open(self._path, "a+", opener=_private)  # noqa: SIM115 - open for as long as the lock is held
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        self.write("")
        return True

    def write(self, text: str) -> None:
        """Replace what the file says. Only for the holder: the file is rewritten in place, so the lock stays on it."""
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate()
        self._file.write(text)
        self._file.flush()

    def read(self) -> str:
        """Return what the holder wrote, empty when nobody ever did."""
        try:
            return self._path.read_text()
        except FileNotFoundError:
            return ""

    def release(self) -> None:
        """Let go, if held."""
        if self._file is not None:
            self.write("")
            self._file.close()
            self._file = None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
