"""Whatever a client sends again, and however its answers were lost: a whole server does it once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.lost_answers import send_and_hang_up
from tests.support.model_behaviours import hang
from tests.support.model_server import ModelServer
from tests.support.processes import wait_for
from tests.support.served import Served, serving

pytestmark = [pytest.mark.cases, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model_server: ModelServer) -> Iterator[Served]:
    home: Path = tmp_path_factory.mktemp("again") / "home"
    model = {"CAIRN_MODEL_BASE_URL": model_server.base_url, "CAIRN_MODEL_NAME": "m"}
    with serving(home, "--api-workers", "2", **model) as served:
        yield served


@pytest.fixture
def talk(model_server: ModelServer) -> str:
    model_server.reset()
    return f"/api/v1/sessions/talk-{uuid4().hex[:8]}"


def message(text: str, client_id: str | None = None) -> dict[str, str]:
    return {"role": "user", "content": text, **({"client_message_id": client_id} if client_id else {})}


def stored(server: Served, talk: str) -> list[str]:
    """Return every text of a session in its order, archived or live; the context has what no document covers."""
    archives = server.get(f"{talk}/archives")
    said = [m for a in archives for m in server.get(f"{talk}/archives/{a['archive_id']}")["messages"]]
    archived = {m["id"] for m in said}
    live = [m for m in server.get(f"{talk}/context?token_budget=1000000")["messages"] if m["id"] not in archived]
    return [m["parts"][0]["text"] for m in said + live]


def total(server: Served, talk: str) -> int:
    reply = httpx.get(f"{server.url}{talk}", timeout=30)
    return int(reply.json()["result"]["total_message_count"]) if reply.status_code == 200 else 0


def ended(server: Served, task_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        task = server.get(f"/api/v1/tasks/{task_id}")
        return task if task["status"] in {"completed", "failed", "cancelled"} else None

    return wait_for(look, f"the end of task {task_id}", 60)


def together(count: int, request: Any) -> list[httpx.Response]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(request, range(count)))


def test_two_commits_at_once_archive_each_message_once(
    server: Served, talk: str, model_server: ModelServer, repetition: int
) -> None:
    texts = [f"m{n:02}" for n in range(1, 41)]
    server.post(f"{talk}/messages/batch", {"messages": [message(text) for text in texts]})
    model_server.script(hang(0.3))
    replies = together(2, lambda _: httpx.post(f"{server.url}{talk}/commit", json={}, timeout=30))
    assert [reply.status_code for reply in replies] == [200, 200]
    results = [reply.json()["result"] for reply in replies]
    assert sorted(result["status"] for result in results) == ["accepted", "skipped"]
    (skipped,) = [result for result in results if result["status"] == "skipped"]
    assert skipped["reason"] == "no_messages"
    assert ended(server, next(r["task_id"] for r in results if r["archived"]))["status"] == "completed"
    assert (stored(server, talk), total(server, talk)) == (texts, 40)


def test_a_batch_whose_answer_was_lost_is_stored_once_under_its_key(server: Served, talk: str, repetition: int) -> None:
    url = f"{server.url}{talk}/messages/batch"
    batch = {"messages": [message(f"text {n}") for n in range(3)]}
    send_and_hang_up(url, batch, {"Idempotency-Key": f"{talk} k-1"})
    assert total(server, talk) == 3

    def again(_: int, body: Any = batch, key: str = f"{talk} k-1") -> httpx.Response:
        return httpx.post(url, json=body, headers={"Idempotency-Key": key}, timeout=30)

    replies = [again(n) for n in range(15)] + together(5, again)
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.content for reply in replies}) == 1
    assert {reply.headers.get("Idempotency-Replayed") for reply in replies} == {"true"}
    assert replies[0].json()["result"]["message_count"] == 3
    changed = {"messages": [batch["messages"][0], message("changed"), batch["messages"][2]]}
    refused = again(0, changed)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    assert total(server, talk) == 3
    assert again(0, key=f"{talk} k-2").json()["result"]["added"] == 3
    assert stored(server, talk) == [m["content"] for m in batch["messages"]] * 2


def test_old_and_new_ids_and_a_commit_whose_answers_were_lost(server: Served, talk: str) -> None:
    url = f"{server.url}{talk}/messages/batch"
    messages = [message(f"text {n}", f"id-{n}") for n in range(30)]
    send_and_hang_up(url, {"messages": messages[:20]})
    assert total(server, talk) == 20
    first, again = [server.post(f"{talk}/messages/batch", {"messages": messages[:20]}) for _ in range(2)]
    assert first == again
    assert [place["seq"] for place in first["cairn"]["messages"]] == list(range(1, 21))
    mixed = server.post(f"{talk}/messages/batch", {"messages": messages[10:]})
    places = [(place["seq"], place["replayed"]) for place in mixed["cairn"]["messages"]]
    assert (mixed["added"], places) == (10, [(n, n <= 20) for n in range(11, 31)])
    assert server.post(f"{talk}/messages/batch", {"messages": messages[10:]})["added"] == 0
    key = {"Idempotency-Key": f"{talk} commit"}
    send_and_hang_up(f"{server.url}{talk}/commit", {}, key)
    assert len(server.get(f"{talk}/archives")) == 1
    replies = together(5, lambda _: httpx.post(f"{server.url}{talk}/commit", json={}, headers=key, timeout=30))
    assert len({reply.content for reply in replies}) == 1
    task_id = replies[0].json()["result"]["task_id"]
    assert ended(server, task_id)["status"] == "completed"
    assert [archive["task_id"] for archive in server.get(f"{talk}/archives")] == [task_id]
    assert stored(server, talk) == [m["content"] for m in messages]


def test_without_ids_a_repeat_is_another_message(server: Served, talk: str) -> None:
    for _ in range(2):
        server.post(f"{talk}/messages", message("hello"))
    assert total(server, talk) == 2
