"""One serve per home, found by everybody else."""

import os
import sys
from pathlib import Path

import pytest

from app.embedded.home import AlreadyServing, HomeNotUsable, ServeLock, open_home, recorded_url
from tests.support.processes import ROOT, running


def test_a_home_is_made_for_its_owner_only(tmp_path):
    home = open_home(tmp_path / "a" / "home")
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_home_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HomeNotUsable, match=r"CAIRN_HOME .*file/home"):
        open_home(tmp_path / "file" / "home")


def test_a_second_serve_is_refused_with_pid_and_address(tmp_path):
    with ServeLock(tmp_path) as first:
        first.announce("http://127.0.0.1:4711")
        with pytest.raises(AlreadyServing, match=rf"pid {os.getpid()}, http://127\.0\.0\.1:4711"):
            ServeLock(tmp_path).__enter__()


def test_the_address_is_there_for_others_until_serve_ends(tmp_path):
    assert recorded_url(tmp_path) is None
    with ServeLock(tmp_path) as lock:
        assert recorded_url(tmp_path) is None
        lock.announce("http://127.0.0.1:4711")
        assert recorded_url(tmp_path) == "http://127.0.0.1:4711"
    assert recorded_url(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"url": 3}'])
def test_a_damaged_note_is_no_address(tmp_path, text):
    (tmp_path / "serve.json").write_text(text)
    assert recorded_url(tmp_path) is None


def test_a_killed_holder_frees_the_home(tmp_path):
    program = (
        "import sys; from pathlib import Path; from app.embedded.home import ServeLock\n"
        "lock = ServeLock(Path(sys.argv[1])).__enter__(); print('held', flush=True); sys.stdin.read()"
    )
    with running(sys.executable, "-P", "-c", program, str(tmp_path), cwd=ROOT) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyServing, match=f"pid {holder.pid}"):
            ServeLock(tmp_path).__enter__()
        holder.kill()
        holder.wait()
    with ServeLock(Path(tmp_path)):
        assert str(os.getpid()) in (tmp_path / "serve.json").read_text()
