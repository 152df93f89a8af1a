"""As whom PostgreSQL runs: it refuses to be root, and containers like to run everything as root."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from app.domain.errors import AppError
from app.embedded import launch
from app.embedded.binaries import Binaries

How: TypeAlias = Literal["plain", "namespace", "setuid"]
ALL_WAYS: tuple[How, ...] = ("plain", "namespace", "setuid")
PLAIN_USERS = ("nobody", "postgres", "daemon")
PROGRAM_SECONDS = 300


class NoUsableUser(AppError):
    """Every way of running PostgreSQL without being root was refused."""

    code = "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class RunAs:
    """How to start a program of PostgreSQL, and whose its files must be, seen from outside."""

    how: How
    uid: int
    gid: int
    file_uid: int
    file_gid: int

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line that starts a program; it ends when the thread that started it ends."""
        return [
            *(sys.executable, "-I", "-S", launch.__file__),
            *(str(os.getpid()), self.how, str(self.uid), str(self.gid)),
            *(program, *arguments),
        ]

    def run(
        self, program: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end and return what it said."""
        return subprocess.run(  # noqa: S603 - programs of PostgreSQL, found by `binaries`
            self.command(program, *arguments), capture_output=True, text=True, env=environment, timeout=PROGRAM_SECONDS
        )

    def own(self, folder: Path) -> None:
        """Give a folder and all in it to the user PostgreSQL runs as, unless it is theirs already."""
        if folder.stat().st_uid == self.file_uid:
            return
        for place, folders, files in os.walk(folder):
            for name in (".", *folders, *files):
                os.chown(os.path.join(place, name), self.file_uid, self.file_gid, follow_symlinks=False)


def choose_run_as(binaries: Binaries, home: Path, allowed: tuple[How, ...] = ALL_WAYS) -> RunAs:
    """Return the first way that really starts `postgres` from where it lies and reaches `home`.

    A user namespace comes before a change of user: files stay those of the caller.
    Raises: NoUsableUser.
    """
    refusals = []
    for run_as in _candidates(allowed):
        refusal = _try(run_as, binaries, home)
        if refusal is None:
            return run_as
        refusals.append(f"{run_as.how}: {refusal}")
    raise NoUsableUser(
        "PostgreSQL does not run as root, and no other user can be used here "
        f"({'; '.join(refusals) or 'nothing to try'}). Run as a normal user, choose a CAIRN_HOME that others may "
        "enter, or give the address of a running server in CAIRN_DATABASE_URL."
    )


def copy_binaries(binaries: Binaries, folder: Path) -> Binaries:
    """Return the same programs beside the data, for a user who cannot enter the place they were installed in."""
    target = folder / "postgresql"
    if not target.exists():
        unfinished = folder / "postgresql.copy"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(binaries.folder.parent, unfinished, ignore=shutil.ignore_patterns("include", "*.a"))
        unfinished.rename(target)
    return Binaries(target / "bin", f"{binaries.origin} (copy)")


def _candidates(allowed: tuple[How, ...]) -> Iterator[RunAs]:
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0 and _has_name(uid):
        if "plain" in allowed:
            yield RunAs("plain", uid, gid, uid, gid)
        return
    user = _plain_user()
    if user is None:
        return
    if sys.platform == "linux" and "namespace" in allowed:
        yield RunAs("namespace", user.pw_uid, user.pw_gid, uid, gid)
    if uid == 0 and "setuid" in allowed:
        yield RunAs("setuid", user.pw_uid, user.pw_gid, user.pw_uid, user.pw_gid)


def _try(run_as: RunAs, binaries: Binaries, home: Path) -> str | None:
    probes = [[binaries.program("postgres"), "--version"]]
    if run_as.how != "plain":
        probes.append(["/bin/ls", "-d", f"{home}/."])
    for arguments in probes:
        done = run_as.run(*arguments)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["no answer"])[-1]
    return None


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _plain_user() -> pwd.struct_passwd | None:
    for name in PLAIN_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
