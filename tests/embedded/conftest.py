"""A home folder with a finished data folder: made once, copied for each test."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.embedded.cluster import Cluster


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("prepared")
    with Cluster(home, durable=False):
        pass
    return home


@pytest.fixture
def home(prepared_home: Path, tmp_path: Path) -> Iterator[Path]:
    """A home of this test alone, whose server was stopped in good order."""
    shutil.copytree(prepared_home, tmp_path / "home")
    (tmp_path / "home" / "postgres" / "port").unlink()
    return tmp_path / "home"
