"""The generated passwords of the embedded server: one file each, readable by its owner only."""

import os
import secrets
from pathlib import Path


class Passwords:
    """Passwords by login name, made on first use and kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, login: str) -> str | None:
        """Return the password of a login, None when it was never made."""
        try:
            return (self._folder / login).read_text()
        except FileNotFoundError:
            return None

    def ensure(self, login: str) -> str:
        """Return the password of a login, the same one for every process that asks."""
        known = self.get(login)
        if known is not None:
            return known
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._folder / f".{login}.{os.getpid()}.{secrets.token_hex(4)}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
        try:
            os.link(draft, self._folder / login)  # fails where another process was first: then theirs counts
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return (self._folder / login).read_text()
