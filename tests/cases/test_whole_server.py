"""A whole server from outside: first writers, commits at once, odd signs, sessions carried out and in."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.model_behaviours import hang
from tests.support.model_server import ModelServer
from tests.support.openviking import LEGACY, done, message, write_session
from tests.support.processes import python, running, wait_for
from tests.support.served import Served, serving

pytestmark = [pytest.mark.cases, pytest.mark.timeout(600)]

SLOW = 0.3
ODD_SIGNS = ("\u2028", "\u2029", "\u0085", "\r", "\v", "\f", "\r\n", "\ufeff", "\u00a0", "\u200b", "🌍", "日本", "\x1b")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model_server: ModelServer) -> Iterator[Served]:
    model = {"CAIRN_MODEL_BASE_URL": model_server.base_url, "CAIRN_MODEL_NAME": "harbour-1"}
    with serving(tmp_path_factory.mktemp("served"), "--api-workers", "2", **model) as served:
        yield served


@pytest.fixture
def session(server: Served) -> Iterator[httpx.Client]:
    """A client whose addresses are those of a session that nobody knows yet."""
    limits = httpx.Limits(max_connections=40)
    with httpx.Client(base_url=f"{server.url}/api/v1/sessions/{uuid4().hex}", limits=limits, timeout=60) as client:
        yield client


def result(reply: httpx.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()["result"]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [one["parts"][0]["text"] for one in messages]


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def at_once(count: int, act) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(act, range(count)))


def wait_for_archives(session: httpx.Client) -> list[dict[str, Any]]:
    def finished() -> list[dict[str, Any]] | None:
        archives = result(session.get("/archives"))
        return archives if all(archive["status"] == "completed" for archive in archives) else None

    return wait_for(finished, "the end of all archives", 60)


def test_the_first_writers_of_a_session_make_one_session(session: httpx.Client, repetition: int) -> None:
    replies = at_once(25, lambda n: session.post("/messages", json=said(f"m{n:02}")))
    counts = sorted(result(reply)["message_count"] for reply in replies)
    assert counts == list(range(1, 26))
    assert sorted(texts(result(session.get("/context"))["messages"])) == [f"m{n:02}" for n in range(25)]


def test_commits_at_once_archive_each_message_once_and_in_order(
    session: httpx.Client, model_server: ModelServer, repetition: int
) -> None:
    model_server.reset()
    model_server.script(*[hang(SLOW)] * 8)
    first = [f"m{n:02}" for n in range(10)]
    result(session.post("/messages/batch", json={"messages": [said(text) for text in first]}))

    def act(n: int) -> httpx.Response:
        return session.post("/messages", json=said(f"later{n}")) if n % 2 else session.post("/commit", json={})

    replies = [result(reply) for reply in at_once(12, act)]
    assert sum(reply.get("status") == "accepted" for reply in replies) >= 1
    archives = wait_for_archives(session)
    assert [archive["archive_id"] for archive in archives] == [f"archive_{n + 1:03}" for n in range(len(archives))]
    archived = [result(session.get(f"/archives/{archive['archive_id']}"))["messages"] for archive in archives]
    live = result(session.get("/context"))["messages"]
    every = [text for messages in [*archived, live] for text in texts(messages)]
    assert every[:10] == first
    assert sorted(every[10:]) == sorted(f"later{n}" for n in range(1, 12, 2))
    assert set(first) <= set(texts(archived[0]))
    asked = [call for call in model_server.calls if call.kind]
    assert len(asked) == len(archives)
    finished = [archive["finished_at"] for archive in archives]
    assert finished == sorted(finished)


@pytest.mark.parametrize("in_one_batch", [False, True], ids=["one by one", "in one batch"])
def test_odd_signs_come_back_as_they_were_and_nothing_stops_after_them(
    session: httpx.Client, *, in_one_batch: bool
) -> None:
    sent = [text for sign in ODD_SIGNS for text in (f"a{sign}b", sign, "plain")]
    if in_one_batch:
        result(session.post("/messages/batch", json={"messages": [said(text) for text in sent]}))
    else:
        for text in sent:
            result(session.post("/messages", json=said(text)))
    assert texts(result(session.get("/context"))["messages"]) == sent
    result(session.post("/commit", json={"wait": True, "timeout": 60}))
    assert texts(result(session.get("/archives/archive_001"))["messages"]) == sent
    assert result(session.post("/messages", json=said("after")))["message_count"] == 1


@pytest.mark.parametrize("sign", [r"\u0000", r"\ud800", r"\udc00 a", r"\ud83d"])
def test_what_is_no_text_is_refused_by_its_field_and_nothing_stops_after_it(session: httpx.Client, sign: str) -> None:
    headers = {"Content-Type": "application/json"}
    one = b'{"role": "user", "content": "a%s"}' % sign.encode()
    for path, body in (("/messages", one), ("/messages/batch", b'{"messages": [%s]}' % one)):
        reply = session.post(path, content=body, headers=headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
        assert ".content: " in reply.json()["error"]["message"]
        result(session.post("/messages", json=said("plain")))
    result(session.post("/commit", json={"wait": True, "timeout": 60}))


def cairn(server: Served, *arguments: str) -> subprocess.CompletedProcess:
    environment = {"CAIRN_HOME": str(server.home), "COLUMNS": "200"}
    command = python("app.cli", *arguments, "--url", server.url)
    with running(*command, env=environment, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def shown(server: Served, name: str) -> tuple[Any, Any]:
    context = server.get(f"/api/v1/sessions/{name}/context?token_budget=100000")
    return context["latest_archive_overview"], context["messages"]


def test_an_export_on_the_command_line_is_the_session_it_came_from(
    server: Served, session: httpx.Client, tmp_path: Path
) -> None:
    name = session.base_url.path.strip("/").rsplit("/", 1)[-1]
    for text in ("a", "line\u2028end", "c"):
        result(session.post("/messages", json=said(text)))
    result(session.post("/commit", json={"keep_recent_count": 1, "wait": True, "timeout": 60}))
    file = tmp_path / "out.jsonl"
    assert cairn(server, "export", name, "--output", str(file)).returncode == 0
    piped = cairn(server, "export", name)
    assert (piped.returncode, piped.stdout) == (0, file.read_text(encoding="utf-8"))
    copy = f"{name}-copy"
    assert cairn(server, "import", str(file), "--session", copy).returncode == 0
    assert shown(server, copy) == shown(server, name)
    again = cairn(server, "import", str(file), "--session", copy)
    assert (again.returncode, "there already" in again.stderr) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_an_export_that_cannot_be_had_leaves_no_file(server: Served, tmp_path: Path) -> None:
    refused = cairn(server, "export", "nobody", "--output", str(tmp_path / "out.jsonl"))
    assert (refused.returncode, "Session not found" in refused.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_sessions_is_imported_each_whole_or_not_at_all(server: Served, tmp_path: Path) -> None:
    one, two, bad, odd = (f"{name}-{uuid4().hex}" for name in ("one", "two", "bad", "odd"))
    messages = [message(text) for text in "abc"]
    write_session(tmp_path / one, [(messages[:2], done())], live=messages[2:])
    write_session(tmp_path / two, [([message("x")], done(LEGACY))])
    broken = write_session(tmp_path / bad, [([message("y")], done())], live=[message("z")])
    (broken / "messages.jsonl").write_text("{\n")
    write_session(tmp_path / odd, [([message("p"), message("q\x00r")], done())])
    imported = cairn(server, "import", str(tmp_path))
    assert imported.returncode == 1
    assert "history/archive_001/messages.jsonl, line 2: " in imported.stderr
    assert "NUL" in imported.stderr
    assert "messages.jsonl, line 1: this is not JSON" in imported.stderr
    assert texts(shown(server, one)[1]) == ["c"]
    assert shown(server, two)[0] == LEGACY
    for name in (bad, odd):
        assert httpx.get(f"{server.url}/api/v1/sessions/{name}").status_code == 404


def test_a_session_can_be_larger_than_a_body_may_be(session: httpx.Client) -> None:
    count, text = 40, "x" * 500_000
    lines: list[dict[str, Any]] = [
        {"type": "session", "format": "cairn-session", "version": 1, "created_at": "2026-01-01T00:00:00Z"},
        *({"type": "message", "seq": n, "role": "user", "content": f"{n} {text}"} for n in range(1, count + 1)),
        {"type": "end", "messages": count, "archives": 0},
    ]
    reply = session.post("/import", content=(json.dumps(line).encode() + b"\n" for line in lines))
    assert result(reply)["messages"] == count
    with session.stream("GET", "/export") as exported:
        records = [json.loads(line) for line in exported.iter_lines() if line]
    assert [record["type"] for record in records] == ["session", *["message"] * count, "end"]
