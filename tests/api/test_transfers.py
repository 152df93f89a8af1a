"""A session goes out as JSON lines and comes in as the same session, or not at all."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from app.api.body import BodyLimits
from app.api.routes.transfers import streamed_lines
from app.bootstrap import Services
from app.domain.scope import Scope
from app.storage import transfer
from tests.support.api import calling, refusal, result
from tests.support.fake_model import UNUSABLE, FakeModel
from tests.support.house import commit, ended, house, somebody, working

SESSIONS = "/api/v1/sessions"
ODD = "line\u2028paragraph\u2029next\u0085tab\tvertical\vfeed\freturn\r\nend 🌍 日本"
MESSAGES = [
    {"role": "user", "content": ODD, "client_message_id": "one", "created_at": "2026-01-02T03:04:05+02:00"},
    {"role": "assistant", "parts": [{"type": "tool", "tool_id": "t", "tool_input": {"n": 1e30}, "odd": [None, 2**63]}]},
    {"role": "user", "parts": [{"type": "tool", "tool_id": "t", "tool_status": "completed", "tool_output": "wet"}]},
    {"role": "user", "content": "we meet on Monday", "peer_id": "ann@home", "turn_id": "7"},
]


async def filled(services: Services, client: httpx.AsyncClient, model: FakeModel) -> Scope:
    """Make session `talk`: a document with a correction, a failed archive, a pending one, live messages."""
    scope = await somebody(services, "default", "default")
    result(await client.post(f"{SESSIONS}/talk/messages/batch", json={"messages": MESSAGES}))
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk"))
        await ended(services, scope, await commit(services, scope, "talk", "bring the map"))
        model.otherwise = UNUSABLE
        await ended(services, scope, await commit(services, scope, "talk", "and a tent"))
    await services.corrections.correct(scope, "talk", "Open Issues", "- ask Anna")
    await commit(services, scope, "talk", "still to be done", "kept", keep=1)
    return scope


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
async def services(database_url: str, model: FakeModel):
    async with house(database_url, model, max_attempts=1) as opened:
        yield opened


async def exported(client: httpx.AsyncClient, session: str) -> list[dict[str, Any]]:
    reply = await client.get(f"{SESSIONS}/{session}/export")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.content.split(b"\n") if line]


def written(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


async def shown(client: httpx.AsyncClient, session: str) -> dict[str, Any]:
    """Return all that clients see of a session, without what names this one and no other."""
    details = result(await client.get(f"{SESSIONS}/{session}"))
    archives = result(await client.get(f"{SESSIONS}/{session}/archives"))
    full = [result(await client.get(f"{SESSIONS}/{session}/archives/{a['archive_id']}")) for a in archives]
    memory = result(await client.get(f"{SESSIONS}/{session}/working-memory"))
    context = result(await client.get(f"{SESSIONS}/{session}/context"))
    for archive in full:
        for name in ("uri", "task_id", "trigger"):
            del archive["cairn"][name]
        # what each step came to travels; how often it was tried, and with which errors, belongs to the old jobs
        archive["cairn"]["steps"] = [(step["step"], step["outcome"]) for step in archive["cairn"]["steps"]]
    own = ("session_id", "uri", "updated_at", "llm_token_usage")
    return {
        "details": {name: value for name, value in details.items() if name not in own},
        "archives": full,
        "memory": {**memory, "session_id": ""},
        "context": context,
    }


async def test_an_imported_export_is_the_same_session(services, model, rows):
    async with calling(services) as client:
        await filled(services, client, model)
        lines = await exported(client, "talk")
        made = result(await client.post(f"{SESSIONS}/copy/import", content=written(lines)))
        assert made == {"session_id": "copy", "messages": 8, "archives": 4}
        assert await shown(client, "copy") == await shown(client, "talk")
        again = await exported(client, "copy")
        assert [{**line, "session_id": ""} for line in again[:1]] == [{**line, "session_id": ""} for line in lines[:1]]
        assert again[1:] == lines[1:]
        archives = result(await client.get(f"{SESSIONS}/copy/archives"))
    assert [archive["trigger"] for archive in archives] == ["import"] * 4
    assert [archive["status"] for archive in archives] == ["completed", "completed", "failed", "pending"]
    assert rows("SELECT * FROM cairn.check_sessions") == []
    assert rows("SELECT call_seq, result_seq, count(*) FROM cairn.tool_calls GROUP BY 1, 2") == [(2, 3, 2)]


async def test_an_imported_session_goes_on_as_the_first_would(services, model):
    async with calling(services) as client:
        scope = await filled(services, client, model)
        result(await client.post(f"{SESSIONS}/copy/import", content=written(await exported(client, "talk"))))
        repeat = result(await client.post(f"{SESSIONS}/copy/messages", json=MESSAGES[0]))
        assert repeat["message_count"] >= 1
        assert result(await client.get(f"{SESSIONS}/copy"))["total_message_count"] == 8
        model.otherwise = None
        archives = result(await client.get(f"{SESSIONS}/copy/archives"))
        async with working(services):
            await ended(services, scope, archives[-1]["task_id"])
            await ended(services, scope, await commit(services, scope, "copy", "and now"))
        after = result(await client.get(f"{SESSIONS}/copy/working-memory"))
    assert "ask Anna" in after["overview"]
    assert after["covered_through_seq"] == 9


async def test_a_session_that_is_there_is_not_imported_into(services, model, rows):
    async with calling(services) as client:
        await filled(services, client, model)
        lines = await exported(client, "talk")
        before = rows("SELECT count(*) FROM cairn.messages")
        reply = await client.post(f"{SESSIONS}/talk/import", content=written(lines))
        assert refusal(reply)[:2] == (409, "ALREADY_EXISTS")
        replies = await asyncio.gather(
            *(client.post(f"{SESSIONS}/copy/import", content=written(lines)) for _ in range(4))
        )
    assert sorted(reply.status_code for reply in replies) == [200, 409, 409, 409]
    assert rows("SELECT count(*) FROM cairn.messages") == [(before[0][0] * 2,)]


def without(*places: int):
    return lambda lines: [line for place, line in enumerate(lines) if place not in {p % len(lines) for p in places}]


def changed(place: int, **values: Any):
    def change(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**line, **values} if position == place else line for position, line in enumerate(lines)]

    return change


DAMAGES = {
    "cut short": (without(-1), "the last line is missing"),
    "nothing": (lambda lines: [], "the last line is missing"),
    "without its head": (without(0), "line 1: the first line"),
    "two heads": (lambda lines: [lines[0], *lines], "line 2: the first line"),
    "a message missing": (without(3), "line 4: message 3 is missing"),
    "an archive missing": (without(9, 10), "line 10: archive 1 is missing"),
    "a document missing": (without(10), "the document of an archive is missing"),
    "something after the end": (lambda lines: [*lines, lines[1]], "nothing may follow"),
    "another format": (changed(0, format="other"), "line 1: format"),
    "a version to come": (changed(0, version=2), "line 1: version"),
    "a role nobody has": (changed(2, role="oracle"), "line 3: role"),
    "a nul": (changed(2, content="a\x00b", parts=None), "line 3: "),
    "half a surrogate pair": (changed(2, content="a\ud800b", parts=None), "line 3: "),
    "a range that is not there": (changed(9, last_seq=99), "line 10: an archive has messages"),
    "an unknown line": (changed(5, type="song"), "line 6: "),
    "two messages with one id": (changed(4, client_message_id="one"), "client_message_id"),
}


@pytest.mark.parametrize(("damage", "complaint"), DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_export_is_refused_whole_and_says_where(services, model, rows, damage, complaint):
    async with calling(services) as client:
        await filled(services, client, model)
        lines = damage(await exported(client, "talk"))
        reply = await client.post(f"{SESSIONS}/copy/import", content=written(lines))
    status, _, message = refusal(reply)
    assert (status in {400, 409}, complaint in message) == (True, True), (status, message)
    assert rows("SELECT name FROM cairn.sessions") == [("talk",)]


async def test_no_json_is_refused_by_its_line(services):
    async with calling(services) as client:
        reply = await client.post(f"{SESSIONS}/copy/import", content=b"nope\n")
    assert refusal(reply)[0] == 400
    assert refusal(reply)[2].startswith("line 1: ")


async def test_an_import_that_is_too_large_is_refused(services):
    async with calling(services, limits=BodyLimits(import_bytes=1000)) as client:
        reply = await client.post(f"{SESSIONS}/copy/import", content=b"x" * 2000)
    assert refusal(reply)[0] == 413


async def test_an_unknown_session_is_not_exported(services):
    async with calling(services) as client:
        assert refusal(await client.get(f"{SESSIONS}/none/export"))[:2] == (404, "NOT_FOUND")


async def test_an_export_shows_one_moment_and_holds_no_connection_between_pages(services, monkeypatch):
    monkeypatch.setattr(transfer, "PAGE_ROWS", 2)
    scope = await somebody(services)
    await commit(services, scope, "talk", *"abcde", keep=2)
    pages = services.transfers.export(scope, "talk")
    records = [*(await anext(pages)), *(await anext(pages))]
    await commit(services, scope, "talk", "later")  # would wait for a lock, were one held
    async for page in pages:
        records += page
    lines = [type(record).__name__ for record in records]
    assert lines == ["Head", *["MovedMessage"] * 5, "MovedArchive", "End"]


async def test_an_export_of_a_session_that_is_deleted_meanwhile_says_that_it_is_broken(services, monkeypatch):
    monkeypatch.setattr(transfer, "PAGE_ROWS", 2)
    scope = await somebody(services, "default", "default")
    await commit(services, scope, "talk", *"abcde", keep=2)
    pages = services.transfers.export(scope, "talk")
    await anext(pages)
    await anext(pages)
    await services.sessions.delete(scope, "talk")
    streamed = [line async for line in streamed_lines([], pages)]
    assert json.loads(streamed[-1]) == {"type": "broken", "reason": "Session not found: talk"}


async def test_pages_end_by_size_as_well(services, monkeypatch):
    monkeypatch.setattr(transfer, "PAGE_BYTES", 100)
    scope = await somebody(services)
    await commit(services, scope, "talk", "x" * 300, "y", "z" * 300)
    pages = [page async for page in services.transfers.export(scope, "talk")]
    assert [len(page) for page in pages[1:3]] == [1, 2]
