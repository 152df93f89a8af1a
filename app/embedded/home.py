"""The home folder of one Cairn on this machine, and the one `cairn serve` that may run on it."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from app.domain.errors import AppError, Conflict
from app.embedded.owner_lock import OwnerLock


class HomeNotUsable(AppError):
    """The home folder cannot be made or written."""

    code = "UNAVAILABLE"


class AlreadyServing(Conflict):
    """Another process serves this home; the message names its pid and address."""


def open_home(home: Path) -> Path:
    """Return the absolute path of a home folder, made for its owner only where it was missing.

    Raises: HomeNotUsable.
    """
    folder = home.expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise HomeNotUsable(f"CAIRN_HOME {folder} cannot be made: {error.strerror}. Name another folder.") from error
    if not writable:
        raise HomeNotUsable(f"CAIRN_HOME {folder} cannot be written by this user. Name another folder.")
    return folder


class ServeLock:
    """Held by a `cairn serve` for as long as it lives, as a context manager. The kernel frees it when it is killed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = OwnerLock(home / "serve.json")

    def __enter__(self) -> "ServeLock":
        """Take the home. Raises: AlreadyServing."""
        if not self._lock.acquire_now():
            raise _already_serving(self._home, self._lock.read())
        self._write(url=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def announce(self, url: str) -> None:
        """Let others find the server that now listens."""
        self._write(url)

    def _write(self, url: str | None) -> None:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._lock.write(json.dumps({"pid": os.getpid(), "url": url, "started": started}) + "\n")


def recorded_url(home: Path) -> str | None:
    """Return the address that a `cairn serve` noted on a home; after a crash nobody may listen there any more."""
    url = _parse(OwnerLock(home.expanduser().absolute() / "serve.json").read()).get("url")
    return url if isinstance(url, str) else None


def _already_serving(home: Path, text: str) -> AlreadyServing:
    holder = _parse(text)
    pid, url = holder.get("pid", "unknown"), holder.get("url") or "an address it has not opened yet"
    return AlreadyServing(
        f"Cairn serves {home} already: pid {pid}, {url}. Stop it with `kill {pid}`, or set another CAIRN_HOME.", holder
    )


def _parse(text: str) -> dict[str, object]:
    try:
        holder = json.loads(text)
    except ValueError:  # between the lock and the first writing, or in the middle of one
        return {}
    return holder if isinstance(holder, dict) else {}
