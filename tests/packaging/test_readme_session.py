"""What README prints for a newcomer to type works as printed."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import ROOT
from tests.support.served import Served, serving

pytestmark = [pytest.mark.cases, pytest.mark.timeout(300)]
SECTIONS = 7


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


def _block(heading: str) -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n.*?^```sh\n(.*?)^```", text, flags=re.M | re.S)
    assert found is not None
    return found[1]


def _documents(text: str) -> list[dict]:
    """Return the JSON documents that stand one after another in what curl printed."""
    found, rest = [], text.strip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].strip()
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on the PATH")
def test_the_curl_session_works_as_printed(server: Served, tmp_path: Path) -> None:
    script = _block("A session with curl")
    assert "http://127.0.0.1:1933/" in script
    printed = script.replace("http://127.0.0.1:1933", server.url).replace("curl -s", "\ncurl -sS --fail-with-body")
    ran = subprocess.run(["bash", "-euc", printed], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    replies = _documents(ran.stdout)
    assert [reply["status"] for reply in replies] == ["ok"] * 5
    commit, context = replies[3]["result"], replies[4]["result"]
    assert commit["archived"] is True
    overview = context["latest_archive_overview"]
    assert overview.count("\n## ") == SECTIONS
    assert "conf/fares.yaml" in overview
    assert "12,000 EUR" in overview
    assert [message["parts"][0]["text"] for message in context["messages"]] == [
        "TODO: ask Anna about VAT. And I prefer short answers."
    ]
    assert context["cairn"]["provider"] == "extractive"
