"""Models that fail and recover, seen from outside: what is archived stays whole, listed and retriable."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.model_behaviours import status
from tests.support.model_server import ModelServer
from tests.support.processes import kill, wait_for
from tests.support.served import Served, serving

pytestmark = [pytest.mark.cases, pytest.mark.timeout(300)]
TALK = "/api/v1/sessions/talk"


@pytest.fixture
def server(tmp_path: Path, model_server: ModelServer) -> Iterator[Served]:
    model_server.reset()
    settings = {
        "CAIRN_MODEL_BASE_URL": model_server.base_url,
        "CAIRN_MODEL_NAME": "m",
        "CAIRN_MAX_ATTEMPTS": "2",
        "CAIRN_LEASE_SECONDS": "3",
    }
    with serving(tmp_path / "home", "--api-workers", "1", **settings) as served:
        yield served


def ended(server: Served, path: str) -> dict:
    def look() -> dict | None:
        task = server.get(path)
        return task if task["status"] in {"completed", "failed", "cancelled"} else None

    return wait_for(look, f"the end of {path}", 60)


def texts(archive: dict) -> list[str]:
    return [message["parts"][0]["text"] for message in archive["messages"]]


def test_a_model_that_fails_and_recovers_costs_nothing_but_time(server: Served, model_server: ModelServer) -> None:
    said = [f"FACT berth {n}: taken until {n} May" for n in range(40)]
    server.post(f"{TALK}/messages/batch", {"messages": [{"role": "user", "content": text} for text in said]})
    model_server.script(status(500), status(500), status(429), status(429))
    accepted = server.post(f"{TALK}/commit", {})
    path = f"/api/v1/tasks/{accepted['task_id']}"
    assert texts(server.get(f"{TALK}/archives/archive_001")) == said

    def pausing() -> dict | None:
        step = server.get(path)["cairn"]["steps"][0]
        return step if step["next_attempt_at"] else None

    step = wait_for(pausing, "a failed attempt")
    assert (step["attempts"], step["error_class"], step["state"]) == (1, "MODEL_UNAVAILABLE", "ready")
    failed = ended(server, path)
    assert (failed["status"], failed["cairn"]["steps"][0]["attempts"]) == ("failed", 2)
    assert "working_memory" in failed["error"]
    for _ in range(2):
        (listed,) = server.get("/api/v1/tasks?status=failed")
        assert listed["task_id"] == accepted["task_id"]
        (archive,) = server.get(f"{TALK}/archives")
        assert (archive["status"], archive["steps"][0]["error_class"]) == ("failed", "MODEL_UNAVAILABLE")
        context = server.get(f"{TALK}/context?token_budget=100000")
        assert [message["parts"][0]["text"] for message in context["messages"]] == said
        server.post(f"{path}/retry", {})
        done = ended(server, path)
    assert (done["status"], done["cairn"]["steps"][0]["attempts"]) == ("completed", 5)
    assert texts(server.get(f"{TALK}/archives/archive_001")) == said
    assert server.get("/api/v1/tasks?status=failed") == []
    empty = server.post(f"{TALK}/commit", {})
    assert (empty["status"], empty["reason"]) == ("skipped", "no_messages")
    again = httpx.post(f"{server.url}{path}/retry", timeout=30)
    assert (again.status_code, again.json()["error"]["code"]) == (412, "FAILED_PRECONDITION")
    context = server.get(f"{TALK}/context")
    assert (context["messages"], len(server.get(f"{TALK}/archives"))) == ([], 1)
    assert context["latest_archive_overview"]
    assert len(model_server.calls) == 5


def test_a_retry_outlives_the_kill_of_the_whole_server(
    tmp_path: Path, model_server: ModelServer, server: Served
) -> None:
    server.post(f"{TALK}/messages", {"role": "user", "content": "FACT tea: green"})
    model_server.script(status(400, {"error": {"message": "no such model"}}))
    path = f"/api/v1/tasks/{server.post(f'{TALK}/commit', {})['task_id']}"
    assert ended(server, path)["status"] == "failed"
    server.post(f"{path}/retry", {})
    for pid in server.processes():
        kill(pid)
    server.process.wait(30)
    environment = {"CAIRN_MODEL_BASE_URL": model_server.base_url, "CAIRN_MODEL_NAME": "m", "CAIRN_LEASE_SECONDS": "3"}
    with serving(tmp_path / "home", "--api-workers", "1", **environment) as restarted:
        assert ended(restarted, path)["status"] == "completed"
        assert texts(restarted.get(f"{TALK}/archives/archive_001")) == ["FACT tea: green"]


def test_the_counts_of_all_api_processes_add_up(tmp_path: Path, model_server: ModelServer) -> None:
    with serving(tmp_path / "home", "--api-workers", "2") as server:
        for _ in range(40):  # connections of their own: both processes get some
            assert httpx.get(f"{server.url}/health", timeout=30).status_code == 200
        pages = {httpx.get(f"{server.url}/metrics", timeout=30).text for _ in range(6)}
    counted = {line for page in pages for line in page.splitlines() if 'route="/health",status="200"' in line}
    assert counted == {'cairn_http_requests_total{method="GET",route="/health",status="200"} 40.0'}
