"""Commands run inside the test process, with an environment of their own."""

import logging
import os
from collections.abc import Callable

import pytest
import structlog
from typer.testing import CliRunner, Result

from app.cli import commands, terminal


@pytest.fixture
def cairn(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Callable[..., Result]:
    """Run `cairn` with arguments; CAIRN_ settings are given by name. The home is an empty folder."""
    monkeypatch.setattr(terminal.out, "width", 200)
    for name in [name for name in os.environ if name.startswith("CAIRN_")]:
        monkeypatch.delenv(name)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def run(*arguments: str, stdin: str | None = None, **settings: str) -> Result:
        environment = {f"CAIRN_{name.upper()}": value for name, value in settings.items()}
        environment = {"CAIRN_HOME": str(tmp_path / "home"), **environment}
        return CliRunner().invoke(commands, list(arguments), input=stdin, env=environment)

    yield run
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()
