"""What is too large, too slow or no text is refused by name; a busy database is a 503 and never a hang."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from app.api.body import BodyLimits
from app.bootstrap import Services
from tests.support.api import calling, refusal, result
from tests.support.house import house, somebody

SESSION = "/api/v1/sessions/a"
MESSAGES = f"{SESSION}/messages"


def message(text: str) -> dict:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        pytest.param("", message("x" * 900), "body.content", id="text"),
        pytest.param("", {"role": "user", "parts": [{"type": "text", "text": "x" * 900}]}, "body.parts", id="parts"),
        pytest.param(
            "/batch", {"messages": [message("x"), message("x" * 900)]}, "body.messages.1.content", id="one of a batch"
        ),
    ],
)
async def test_a_message_that_is_too_large_is_refused_by_its_field(services, rows, path, body, field):
    async with calling(services, limits=BodyLimits(message_bytes=800)) as client:
        reply = await client.post(f"{MESSAGES}{path}", json=body)
    status, code, text = refusal(reply)
    assert (status, code, text) == (413, "INVALID_ARGUMENT", f"{field}: must not be larger than 800 bytes")
    assert reply.json()["error"]["details"]["field"] == field
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


async def test_many_small_messages_may_be_larger_together_than_one_may_be(services):
    async with calling(services, limits=BodyLimits(message_bytes=800)) as client:
        added = result(await client.post(f"{MESSAGES}/batch", json={"messages": [message("x" * 300)] * 10}))
    assert added["added"] == 10


async def test_a_body_that_stops_coming_is_given_up(services):
    async def stops():
        yield b'{"role": "user", '
        await asyncio.Event().wait()

    async with calling(services, limits=BodyLimits(pause_seconds=0.05)) as client:
        reply = await client.post(MESSAGES, content=stops())
    assert refusal(reply)[:2] == (408, "DEADLINE_EXCEEDED")


BROKEN = {"nul": "%00", "half a surrogate pair": "%ED%A0%80", "no utf-8": "%FF"}


@pytest.mark.parametrize("sign", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize(
    ("method", "path", "place"),
    [
        ("GET", "/api/v1/sessions/{}", "path"),
        ("DELETE", "/api/v1/sessions/a{}b", "path"),
        ("POST", "/api/v1/sessions/{}/messages", "path"),
        ("POST", "/api/v1/sessions/{}/commit", "path"),
        ("GET", "/api/v1/tasks/{}", "path"),
        ("GET", "/api/v1/tasks?resource_id={}", "query.resource_id"),
        ("GET", "/api/v1/sessions/a/context?token_budget={}", "query.token_budget"),
    ],
)
async def test_an_address_that_is_no_text_is_refused_by_its_place(client, rows, method, path, place, sign):
    body = message("x") if path.endswith("messages") else None
    reply = await client.request(method, path.format(sign), json=body)
    status, code, text = refusal(reply)
    assert (status, code) == (400, "INVALID_ARGUMENT")
    assert text == f"Invalid request parameters: {place}: must be UTF-8 text without NUL"
    assert rows("SELECT count(*) FROM cairn.sessions") == [(0,)]


async def test_odd_but_valid_text_in_an_address_is_a_name_like_any_other(client):
    for name in ("a%E2%80%A8b", "caf%C3%A9%20%F0%9F%8C%8D", "a+b"):
        result(await client.post(f"/api/v1/sessions/{name}/messages", json=message("hello")))
    listed = {one["session_id"] for one in result(await client.get("/api/v1/sessions"))}
    assert listed == {"a\u2028b", "café 🌍", "a+b"}


@pytest.mark.parametrize("header", ["X-OpenViking-Account", "X-OpenViking-User"])
@pytest.mark.parametrize("value", ["a b", "ä", "a/b", "_root", "x" * 200, "\u00ff"])
async def test_a_header_that_is_no_name_is_refused(client, header, value):
    reply = await client.get("/api/v1/sessions", headers={header: value.encode("latin-1")})
    assert refusal(reply)[:2] == (400, "INVALID_ARGUMENT")


async def test_when_all_connections_are_held_a_request_gets_503_in_time_and_health_answers(database_url):
    async with house(database_url, pool_size=2, pool_wait_seconds=0.3) as services, calling(services) as client:
        await somebody(services, "default", "default")
        result(await client.post(MESSAGES, json=message("before")))
        async with AsyncExitStack() as held:
            await asyncio.gather(*(hold(services, held) for _ in range(2)))
            async with asyncio.timeout(5):
                replies = await asyncio.gather(
                    *(client.get(f"{SESSION}/context") for _ in range(10)),
                    *(client.post(MESSAGES, json=message("during")) for _ in range(10)),
                )
                health = await client.get("/health")
        for reply in replies:
            assert refusal(reply)[:2] == (503, "UNAVAILABLE")
            assert int(reply.headers["retry-after"]) >= 1
        assert health.status_code == 200
        added = result(await client.post(MESSAGES, json=message("after")))
        assert added["message_count"] == 2


async def hold(services: Services, held: AsyncExitStack) -> None:
    """Take a connection of each pool, in a task of its own: a task has one transaction at a time."""
    release = asyncio.Event()
    ready = asyncio.Barrier(3)

    async def keep(door) -> None:
        async with door(None):
            await ready.wait()
            await release.wait()

    tasks = [asyncio.create_task(keep(door)) for door in (services.database.transaction, services.database.statement)]

    async def let_go() -> None:
        release.set()
        await asyncio.gather(*tasks)

    held.push_async_callback(let_go)
    await ready.wait()
