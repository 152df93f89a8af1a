"""Making the data folder of the embedded server, all of it or nothing."""

import os
import shutil
from pathlib import Path

from app.domain.errors import AppError, Unavailable
from app.embedded.binaries import Binaries
from app.embedded.privileges import RunAs

# Never the plain C locale: with it pg_trgm finds no words in Chinese and Japanese text.
LOCALES = ("C.UTF-8", "en_US.UTF-8")
UNKNOWN_LOCALE = "invalid locale name"
SUPERUSER = "postgres"


class WrongVersion(AppError):
    """The data was made by another major version than the one at hand."""

    code = "UNAVAILABLE"


class ClusterFailed(Unavailable):
    """PostgreSQL cannot be made or started; the message holds its own last words."""


def data_version(data: Path) -> str | None:
    """Return the major version that made a data folder, None where there is none."""
    try:
        return (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return None


def ensure_data_folder(data: Path, binaries: Binaries, run_as: RunAs, password: str) -> None:
    """Make the data folder where it is missing and give it to the user the server runs as.

    It is made beside its place and renamed, so a crash on the way leaves nothing half-made behind.
    Raises: ClusterFailed, WrongVersion.
    """
    if data_version(data) is None:
        draft = data.with_name("data.init")
        shutil.rmtree(draft, ignore_errors=True)
        _initdb(draft, binaries, run_as, password)
        draft.rename(data)
    made_by, found = data_version(data), program_version(binaries, run_as)
    if made_by != found:
        raise WrongVersion(
            f"The data in {data} was made by PostgreSQL {made_by}, but {binaries.folder} is version {found}. Name a "
            f"folder with version {made_by} in CAIRN_PG_BIN, or dump the data with it and load it into a new home."
        )
    try:
        run_as.own(data)
    except PermissionError as error:
        raise ClusterFailed(f"The data in {data} belongs to another user; start Cairn as that user.") from error


def program_version(binaries: Binaries, run_as: RunAs) -> str:
    """Return the major version of a `postgres` program, such as "18"."""
    return run_as.run(binaries.program("postgres"), "--version").stdout.split()[2].split(".")[0]


def server_environment() -> dict[str, str]:
    """Return the caller's environment without what would change the server behind our back."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "LC_ALL": "C"}  # a valid one always: macOS servers refuse to start without


def _initdb(draft: Path, binaries: Binaries, run_as: RunAs, password: str) -> None:
    draft.mkdir(mode=0o700)
    run_as.own(draft)
    password_file = draft.with_name("initdb.password")
    password_file.unlink(missing_ok=True)
    with open(os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(password)
    os.chown(password_file, run_as.file_uid, run_as.file_gid)
    try:
        for locale in LOCALES:
            refusal = _initdb_with(locale, draft, password_file, binaries, run_as)
            if refusal is None:
                return
            if UNKNOWN_LOCALE not in refusal:
                break
    finally:
        password_file.unlink()
    raise ClusterFailed(f"PostgreSQL could not make its data folder: {refusal}")


def _initdb_with(locale: str, draft: Path, password_file: Path, binaries: Binaries, run_as: RunAs) -> str | None:
    done = run_as.run(
        binaries.program("initdb"),
        *("-D", str(draft), "-U", SUPERUSER, f"--pwfile={password_file}", "--auth=scram-sha-256"),
        *("--encoding=UTF8", f"--locale={locale}", "--data-checksums", "--no-instructions"),
        environment=server_environment(),
    )
    return None if done.returncode == 0 else done.stderr.strip()[-2000:]
