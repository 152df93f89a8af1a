"""Root never runs PostgreSQL, and programs end with their parent."""

import os
import shutil
import subprocess
import sys

import pytest

from app.embedded.binaries import find_binaries
from app.embedded.privileges import NoUsableUser, choose_run_as, copy_binaries
from tests.support.processes import alive, running, wait_for

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent ended")


@only_root
@pytest.mark.parametrize("way", ["namespace", "setuid"])
def test_the_program_does_not_see_itself_as_root(tmp_path, way):
    run_as = choose_run_as(find_binaries(), tmp_path, (way,))
    assert run_as.run(shutil.which("id"), "-u").stdout.strip() != "0"


@only_root
def test_a_closed_folder_of_root_is_reached_all_the_same(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for way in ("namespace", "setuid"):
        assert choose_run_as(find_binaries(), closed, (way,)).how == way


@only_root
def test_nothing_allowed_is_explained(tmp_path):
    with pytest.raises(NoUsableUser, match="Run as a normal user"):
        choose_run_as(find_binaries(), tmp_path, ())


@only_root
def test_owning_changes_the_owner_of_everything(tmp_path):
    (tmp_path / "data" / "base").mkdir(parents=True)
    (tmp_path / "data" / "base" / "1").touch()
    run_as = choose_run_as(find_binaries(), tmp_path, ("setuid",))
    run_as.own(tmp_path / "data")
    owners = {path.stat().st_uid for path in (tmp_path / "data", *(tmp_path / "data").rglob("*"))}
    assert owners == {run_as.uid}


@only_linux
def test_a_program_ends_when_its_parent_is_killed(tmp_path):
    program = (
        "import subprocess, sys; from pathlib import Path\n"
        "from app.embedded.binaries import find_binaries; from app.embedded.privileges import choose_run_as\n"
        "run_as = choose_run_as(find_binaries(), Path(sys.argv[1]))\n"
        "child = subprocess.Popen(run_as.command('/bin/cat'), stdin=subprocess.PIPE)\n"
        "child.stdin.write(b'x'); child.stdin.flush(); print(child.pid, flush=True); sys.stdin.read()"
    )
    with running(sys.executable, "-P", "-c", program, str(tmp_path)) as parent:
        child = int(parent.stdout.readline())
        assert alive(child)
        parent.kill()
        parent.wait()
        wait_for(lambda: not alive(child), "the end of the child")


def test_a_copy_of_the_programs_works_without_the_original(tmp_path):
    copied = copy_binaries(find_binaries(), tmp_path)
    assert copied.folder == tmp_path / "postgresql" / "bin"
    said = subprocess.run([copied.program("postgres"), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("postgres (PostgreSQL)")
    assert copy_binaries(find_binaries(), tmp_path) == copied
