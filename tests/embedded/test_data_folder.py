"""A data folder is made whole or refused with the reason of PostgreSQL itself."""

import os

import pytest

from app.embedded.binaries import Binaries
from app.embedded.data_folder import ClusterFailed, ensure_data_folder
from app.embedded.privileges import RunAs


@pytest.fixture
def run_as() -> RunAs:
    return RunAs("plain", os.geteuid(), os.getegid(), os.geteuid(), os.getegid())


def programs(folder, initdb: str) -> Binaries:
    """Return programs of which `initdb` does as told: $locale is the one it was given, $data its folder."""
    folder.mkdir()
    find = 'for a in "$@"; do case $a in --locale=*) locale=${a#--locale=};; */data.init) data=$a;; esac; done'
    for name, script in (("initdb", f"{find}\n{initdb}"), ("postgres", "echo 'postgres (PostgreSQL) 18.0'")):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return Binaries(folder, "a test")


def test_a_full_disk_is_reported_and_not_what_the_next_locale_would_say(tmp_path, run_as):
    binaries = programs(
        tmp_path / "bin",
        'if [ "$locale" = C.UTF-8 ]; then echo "No space left on device" >&2; '
        "else echo 'invalid locale name' >&2; fi; exit 1",
    )
    with pytest.raises(ClusterFailed, match="No space left on device"):
        ensure_data_folder(tmp_path / "data", binaries, run_as, "secret")
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "initdb.password").exists()


def test_a_locale_that_is_unknown_here_is_passed_over(tmp_path, run_as):
    binaries = programs(
        tmp_path / "bin",
        'if [ "$locale" = C.UTF-8 ]; then echo "initdb: error: invalid locale name" >&2; exit 1; fi\n'
        'echo 18 > "$data/PG_VERSION"; echo "$locale" > "$data/locale"',
    )
    ensure_data_folder(tmp_path / "data", binaries, run_as, "secret")
    assert (tmp_path / "data" / "locale").read_text() == "en_US.UTF-8\n"
