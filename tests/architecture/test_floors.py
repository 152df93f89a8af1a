"""Imports point down, and each outside package does its job on one floor."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, imported_packages, python_files, shown

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

WHERE_EACH_PACKAGE_WORKS = [
    ("sqlalchemy", "app/storage"),
    ("alembic", "app/storage"),
    ("alembic", "migrations"),
    ("psycopg", "app/storage"),
    ("fastapi", "app/api"),
    ("pydantic", "app/api"),
    ("openai", "app/providers"),
    ("jsonschema", "app/providers"),
    ("tiktoken", "app/providers"),
    ("pytest", "tests"),
    ("testcontainers", "tests/support"),
]
RUNTIME = {package for package, folder in WHERE_EACH_PACKAGE_WORKS if folder.startswith(("app", "migrations"))}


def _declared() -> set[str]:
    names = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    return {re.split(r"[\[<>=;! ]", name, maxsplit=1)[0] for name in names}


@pytest.mark.parametrize(("package", "folder"), WHERE_EACH_PACKAGE_WORKS)
def test_a_package_is_declared_and_imported_where_it_works(package: str, folder: str) -> None:
    assert package in _declared()
    assert any(package in imported_packages(path) for path in python_files(folder)), f"{package} is idle in {folder}"


def test_what_the_server_imports_is_a_dependency_and_not_a_development_tool() -> None:
    runtime = {re.split(r"[\[<>=;! ]", name, maxsplit=1)[0] for name in PROJECT["project"]["dependencies"]}
    assert runtime >= RUNTIME


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_every_room_stands_on_a_floor() -> None:
    layers = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")["layers"]
    floors = {room.strip().removeprefix("app.") for layer in layers for room in re.split(r"[|:]", layer)}
    beside = {"settings", "observability", "listener"}
    rooms = {
        path.stem if path.is_file() else path.name
        for path in (ROOT / "app").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and path.stem != "__init__"
    }
    assert rooms - floors - beside == set()
    assert floors - rooms == set()


def test_settings_are_read_at_the_top_only() -> None:
    allowed = ("app/main.py", "app/bootstrap.py", "app/settings.py", "app/listener.py", "app/cli/")
    readers = [
        shown(path)
        for path in python_files("app")
        if "app.settings" in path.read_text() and not shown(path).startswith(allowed)
    ]
    assert readers == []
