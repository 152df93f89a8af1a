"""What may be sent again: under an Idempotency-Key, or with ids of the client's own."""

import asyncio

import psycopg
import pytest

from app.domain.messages import Appended
from tests.support.api import refusal, result
from tests.support.house import working

SESSIONS = "/api/v1/sessions"
TALK = f"{SESSIONS}/talk"
KEY, REPLAYED = "Idempotency-Key", "Idempotency-Replayed"
BATCH = {"messages": [{"role": "user", "content": f"message {n}"} for n in range(3)]}
REQUESTS = {
    "message": (f"{TALK}/messages", {"role": "user", "content": "hello"}),
    "batch": (f"{TALK}/messages/batch", BATCH),
    "commit": (f"{TALK}/commit", {"keep_recent_count": 1}),
    "create": (SESSIONS, {}),
}
COUNTS = (
    "SELECT (SELECT count(*) FROM cairn.messages), (SELECT count(*) FROM cairn.archives),"
    " (SELECT count(*) FROM cairn.jobs), (SELECT count(*) FROM cairn.sessions)"
)


async def send(client, what, key="k-1", **body):
    path, usual = REQUESTS[what]
    return await client.post(path, json={**usual, **body}, headers={KEY: key})


async def talk(client):
    result(await client.post(f"{TALK}/messages/batch", json=BATCH))


@pytest.mark.parametrize("what", sorted(REQUESTS))
async def test_a_repeat_under_the_same_key_answers_byte_for_byte_and_does_nothing(client, rows, what):
    await talk(client)
    first = await send(client, what)
    after_first = rows(COUNTS)
    again = [await send(client, what) for _ in range(3)]
    assert result(first)
    assert {reply.content for reply in again} == {first.content}
    assert [reply.headers.get(REPLAYED) for reply in (first, *again)] == [None, "true", "true", "true"]
    assert rows(COUNTS) == after_first
    assert (await send(client, what, "k-2")).content != first.content


@pytest.mark.parametrize("what", sorted(REQUESTS))
async def test_requests_with_one_key_at_once_have_one_effect(client, rows, what):
    await talk(client)
    before = rows(COUNTS)[0]
    replies = await asyncio.gather(*(send(client, what) for _ in range(8)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.content for reply in replies}) == 1
    assert sum(reply.headers.get(REPLAYED) is None for reply in replies) == 1
    effect = {"message": (1, 0, 0, 0), "batch": (3, 0, 0, 0), "commit": (0, 1, 1, 0), "create": (0, 0, 0, 1)}[what]
    assert tuple(after - b for after, b in zip(rows(COUNTS)[0], before, strict=True)) == effect


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("message", {"content": "other"}),
        ("batch", {"messages": [*BATCH["messages"][:1], {"role": "user", "content": "changed"}, BATCH["messages"][2]]}),
        ("commit", {"keep_recent_count": 0}),
        ("create", {"session_id": "named"}),
    ],
)
async def test_another_body_under_the_same_key_is_refused_and_writes_nothing(client, rows, what, body):
    await talk(client)
    result(await send(client, what))
    after_first = rows(COUNTS)
    refused = await send(client, what, **body)
    assert refusal(refused)[:2] == (409, "CONFLICT")
    assert refused.json()["error"]["details"]["field"] == KEY
    assert rows(COUNTS) == after_first


async def test_another_route_or_session_under_the_same_key_is_refused(client, rows):
    await talk(client)
    result(await client.post(f"{TALK}/commit", content=b"", headers={KEY: "k"}))
    after_first = rows(COUNTS)
    for path in (SESSIONS, f"{SESSIONS}/other/commit"):
        assert refusal(await client.post(path, json={}, headers={KEY: "k"}))[:2] == (409, "CONFLICT")
    assert rows(COUNTS) == after_first


async def test_spaces_order_and_how_to_answer_do_not_make_another_request(client, services):
    await talk(client)
    path = f"{TALK}/commit"
    first = await client.post(path, content=b'{"keep_recent_count": 1, "wait": false}', headers={KEY: "k"})
    async with working(services):
        again = await client.post(
            path, content=b'{ "timeout": 30, "wait":true,"keep_recent_count" :1, "telemetry": true}', headers={KEY: "k"}
        )
    assert again.json()["result"]["cairn"].pop("task")["status"] == "completed"
    task = result(again)["cairn"].pop("task")
    assert (task["task_id"], task["status"]) == (result(first)["task_id"], "completed")
    assert again.json()["telemetry"]["summary"]["operation"] == "session.commit"


async def test_a_skipped_commit_is_answered_again_too(client):
    await talk(client)
    result(await client.post(f"{TALK}/commit", json={}))
    first = await client.post(f"{TALK}/commit", json={}, headers={KEY: "k"})
    await talk(client)
    again = await client.post(f"{TALK}/commit", json={}, headers={KEY: "k"})
    assert (result(first)["reason"], again.content) == ("no_messages", first.content)


async def test_a_request_that_failed_may_be_sent_again_under_its_key(client):
    assert refusal(await send(client, "commit"))[0] == 404
    await talk(client)
    assert result(await send(client, "commit"))["archived"] is True


async def test_keys_of_others_are_others(client):
    replies = [
        await client.post(f"{TALK}/messages/batch", json=BATCH, headers={KEY: "k", "X-OpenViking-User": name})
        for name in ("ann", "bob")
    ]
    assert [REPLAYED in reply.headers for reply in replies] == [False, False]
    assert [result(reply)["message_count"] for reply in replies] == [3, 3]


async def test_an_expired_key_is_free_again(client, rows, superuser_url):
    result(await send(client, "message"))
    with psycopg.connect(superuser_url) as connection:
        connection.execute("UPDATE cairn.idempotency_keys SET expires_at = now()")
    other = await send(client, "message", content="other")
    assert (result(other)["message_count"], REPLAYED in other.headers) == (2, False)
    assert rows("SELECT count(*), bool_and(expires_at > now() + interval '23 hours') FROM cairn.idempotency_keys") == [
        (1, True)
    ]


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "ключ".encode(), b"\xff"])
@pytest.mark.parametrize("what", sorted(REQUESTS))
async def test_a_key_that_cannot_be_one_is_refused(client, rows, what, key):
    path, body = REQUESTS[what]
    refused = await client.post(
        path, json=body, headers=[(KEY.encode(), key if isinstance(key, bytes) else key.encode())]
    )
    assert refusal(refused)[:2] == (400, "INVALID_ARGUMENT")
    assert rows(COUNTS) == [(0, 0, 0, 0)]


async def test_a_key_of_any_printable_signs_is_taken(client):
    for key in ('"8e03978e-40d5"', "x" * 255, "a b~!"):
        assert REPLAYED not in (await send(client, "message", key)).headers
        assert REPLAYED in (await send(client, "message", key)).headers


async def test_a_batch_of_old_and_new_ids_says_where_each_message_stands(client):
    def batch(*numbers):
        return {"messages": [{"role": "user", "content": f"{n}", "client_message_id": f"c{n}"} for n in numbers]}

    path = f"{TALK}/messages/batch"
    first = await client.post(path, json=batch(1, 2))
    repeat = await client.post(path, json=batch(1, 2))
    mixed = await client.post(path, json=batch(3, 2, 4))
    places = [
        [(m["client_message_id"], m["seq"], m["replayed"]) for m in result(reply)["cairn"]["messages"]]
        for reply in (first, repeat, mixed)
    ]
    assert places == [
        [("c1", 1, False), ("c2", 2, False)],
        [("c1", 1, True), ("c2", 2, True)],
        [("c3", 3, False), ("c2", 2, True), ("c4", 4, False)],
    ]
    assert [result(reply)["added"] for reply in (first, repeat, mixed)] == [2, 0, 2]
    assert "cairn" not in result(await client.post(path, json=BATCH))


@pytest.mark.parametrize(
    ("seqs", "added", "replayed"),
    [((), 0, ()), ((4, 5), 2, (False, False)), ((4, 5), 0, (True, True)), ((7, 2, 8), 2, (False, True, False))],
)
def test_new_messages_are_those_with_the_highest_places(seqs, added, replayed):
    assert Appended(seqs, added, 0, 0).replayed == replayed
