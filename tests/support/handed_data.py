"""The folder with handed data, which stays outside the repository."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

NEEDS_TEST_DATA = "set CAIRN_TEST_DATA"


def load_test_data(*parts: str) -> Any | None:
    """Return a decoded JSON file below the folder that CAIRN_TEST_DATA names, None without the folder or file."""
    folder = os.environ.get("CAIRN_TEST_DATA")
    path = Path(folder, *parts) if folder else None
    return json.loads(path.read_text(encoding="utf-8")) if path and path.is_file() else None


def skipped_without_data() -> Any:
    """Return the one parameter of a test whose cases are not there."""
    return pytest.param(None, marks=pytest.mark.skip(reason=NEEDS_TEST_DATA), id="no-data")
