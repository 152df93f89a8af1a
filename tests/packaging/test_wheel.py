"""The wheel, installed into an empty environment outside the checkout, is a whole server."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.support.processes import ROOT, running, wait_for

pytestmark = [pytest.mark.cases, pytest.mark.timeout(300)]
UV = shutil.which("uv")
needs_uv = pytest.mark.skipif(
    UV is None, reason="uv is not on the PATH: `pip install uv` to build and install the wheel"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder], cwd=ROOT, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([UV, "venv", "--quiet", folder / "venv"], cwd=folder, check=True)
    pins = ROOT / "requirements.lock"
    command = [UV, "pip", "install", "--quiet", "--python", folder / "venv/bin/python"]
    subprocess.run([*command, "--require-hashes", "-r", pins], cwd=folder, check=True)
    subprocess.run([*command, "--no-deps", wheel], cwd=folder, check=True)
    return folder


@needs_uv
def test_the_wheel_carries_what_is_not_python(wheel: Path) -> None:
    carried = set(zipfile.ZipFile(wheel).namelist())
    for folder, inside in (("app", "app"), ("migrations", "app/migrations_data")):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.name != "README.md":
                assert f"{inside}/{path.relative_to(ROOT / folder)}" in carried


@needs_uv
def test_it_serves_from_an_empty_environment(installed: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "TMPDIR"}}
    environment = {**kept, "HOME": str(installed), "CAIRN_HOME": str(installed / "home")}
    output = installed / "output"
    with (
        output.open("w") as sink,
        running(str(installed / "venv/bin/cairn"), "serve", "--port", "0", stdout=sink, stderr=sink, cwd=installed,
                env={**environment, "PYTHONPATH": ""}) as server,
    ):  # fmt: skip
        url = wait_for(lambda: _announced(output) or server.poll() is not None, "the announcement", 60)
        assert isinstance(url, str), output.read_text()
        assert httpx.get(f"{url}/ready", timeout=10).json()["status"] in {"ready", "ok"}
        server.terminate()
        server.wait(60)


def _announced(output: Path) -> str | None:
    for line in output.read_text().splitlines():
        words = line.split()
        if words[:1] == ["API"] and "Ctrl-C" in output.read_text():
            return words[1]
    return None
