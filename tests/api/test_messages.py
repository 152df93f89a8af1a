"""Adding messages: what is stored, what is answered, what is refused."""

import json
from uuid import UUID

import pytest

from tests.support.api import faults, refusal, result

PATH = "/api/v1/sessions/talk/messages"


async def context_messages(client):
    return result(await client.get("/api/v1/sessions/talk/context"))["messages"]


async def test_a_message_makes_its_session_and_is_stored(client, rows):
    added = result(await client.post(PATH, json={"role": "user", "content": "Hello", "peer_id": "-home-me"}))
    assert added == {"session_id": "talk", "message_count": 1, "pending_tokens": 1}
    assert rows("SELECT seq, role, parts, peer_id FROM cairn.messages") == [
        (1, "user", [{"type": "text", "text": "Hello"}], "-home-me")
    ]


async def test_the_reply_has_the_five_fields_of_the_envelope(client):
    reply = await client.post(PATH, json={"role": "user", "content": "Hello"})
    assert reply.headers["content-type"] == "application/json"
    assert set(reply.json()) == {"status", "result", "error", "telemetry", "profile"}


async def test_a_batch_is_stored_in_order(client, rows):
    messages = [{"role": "user", "content": f"m{n:02}"} for n in range(100)]
    added = result(await client.post(f"{PATH}/batch", json={"messages": messages}))
    assert added["added"] == added["message_count"] == 100
    stored = rows("SELECT parts -> 0 ->> 'text' FROM cairn.messages ORDER BY seq")
    assert [text for (text,) in stored] == [f"m{n:02}" for n in range(100)]


async def test_an_empty_batch_is_fine(client):
    added = result(await client.post(f"{PATH}/batch", json={"messages": []}))
    assert added == {"session_id": "talk", "message_count": 0, "added": 0, "pending_tokens": 0}


async def test_one_bad_message_stores_nothing_of_its_batch(client, rows):
    messages = [{"role": "user", "content": "good"}, {"role": "robot", "content": "bad"}]
    assert faults(await client.post(f"{PATH}/batch", json={"messages": messages})) == ["body.messages.1.role"]
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


async def test_parts_are_given_back_as_they_were_sent(client):
    parts = [
        {"type": "text", "text": "look", "lang": "en"},
        {"type": "image", "data": "aGk=", "mime_type": "image/png", "size": [3, 4]},
        {"type": "hologram", "frames": [{"depth": 1.5}], "ok": True},
        {"note": "a part without a type"},
    ]
    result(await client.post(PATH, json={"role": "user", "parts": parts}))
    [message] = await context_messages(client)
    assert message["parts"] == parts


async def test_a_tool_part_always_has_the_fields_that_clients_read(client):
    part = {"type": "tool", "tool_id": "t1", "tool_name": "search", "tool_input": {"q": "rain"}}
    result(await client.post(PATH, json={"role": "assistant", "parts": [part]}))
    [message] = await context_messages(client)
    assert message["parts"] == [{**part, "tool_uri": "", "skill_uri": "", "tool_status": "pending"}]


async def test_the_address_of_a_context_part_is_written_out(client):
    part = {"type": "context", "uri": "viking://~/memories/profile.md", "context_type": "memory", "abstract": "me"}
    result(await client.post(PATH, json={"role": "user", "parts": [part]}))
    [message] = await context_messages(client)
    assert message["parts"][0]["uri"] == "viking://user/default/memories/profile.md"


async def test_a_message_shows_what_the_client_said_about_it(client, rows):
    said = {
        "created_at": "2024-02-29T23:59:59+08:00",
        "turn_id": "turn-7",
        "message_kind": "user_query",
        "source_message_ids": ["a", "b"],
        "peer_id": "bob",
    }
    result(await client.post(PATH, json={"role": "user", "content": "x", **said}))
    [message] = await context_messages(client)
    identity = UUID(message.pop("id").removeprefix("msg_"))
    assert message == {"role": "user", "parts": [{"type": "text", "text": "x"}], **said}
    stored = rows("SELECT message_id, said_at AT TIME ZONE 'UTC' FROM cairn.messages")
    assert [(row[0], row[1].isoformat()) for row in stored] == [(identity, "2024-02-29T15:59:59")]


async def test_a_message_without_a_time_shows_when_it_came(client):
    result(await client.post(PATH, json={"role": "user", "content": "x"}))
    [message] = await context_messages(client)
    assert len(message["created_at"]) == len("2026-11-30T18:00:00.000000+00:00")
    assert message["created_at"].endswith("+00:00")


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        pytest.param({"content": ""}, [{"type": "text", "text": ""}], id="empty text"),
        pytest.param({"parts": []}, [], id="no parts"),
        pytest.param(
            {"content": "no", "parts": [{"type": "text", "text": "yes"}]},
            [{"type": "text", "text": "yes"}],
            id="parts win",
        ),
        pytest.param(
            {"content": "yes", "parts": []}, [{"type": "text", "text": "yes"}], id="nothing wins over something"
        ),
        pytest.param({"content": "yes", "parts": None}, [{"type": "text", "text": "yes"}], id="null is absent"),
    ],
)
async def test_content_and_parts(client, rows, body, parts):
    result(await client.post(PATH, json={"role": "user", **body}))
    assert rows("SELECT parts FROM cairn.messages") == [(parts,)]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\r", "\r\n", "\v", "\f", "\u200b", "🪨", "石碑"])
async def test_text_comes_back_byte_for_byte(client, separator):
    text = f"a{separator}b"
    result(await client.post(PATH, json={"role": "user", "content": text}))
    assert (await context_messages(client))[0]["parts"][0]["text"] == text


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
async def test_four_roles_may_speak(client, role):
    result(await client.post(PATH, json={"role": role, "content": "x"}))
    assert (await context_messages(client))[0]["role"] == role


MESSAGE = {"role": "user", "content": "x"}


async def test_text_that_only_looks_suspicious_is_stored(client):
    text = "NaN Infinity 12345678901234567890 1e999 \\u0000"
    result(await client.post(PATH, json={"role": "user", "content": text}))
    assert (await context_messages(client))[0]["parts"][0]["text"] == text


async def test_the_largest_numbers_come_back_unchanged(client):
    part = {"type": "odd", "least": -(2**63), "most": 2**63 - 1, "ratio": 1.5e-300}
    result(await client.post(PATH, json={"role": "user", "parts": [part]}))
    assert (await context_messages(client))[0]["parts"] == [part]


async def test_a_repeated_client_id_answers_the_same_and_stores_nothing(client, rows):
    message = {**MESSAGE, "client_message_id": "c1"}
    first = result(await client.post(PATH, json=message))
    result(await client.post(PATH, json=MESSAGE))
    assert result(await client.post(PATH, json=message)) == first
    assert rows("SELECT count(*) FROM cairn.messages") == [(2,)]


async def test_a_client_id_with_another_body_is_a_conflict(client, rows):
    result(await client.post(PATH, json={**MESSAGE, "client_message_id": "c1"}))
    reply = await client.post(PATH, json={"role": "user", "content": "other", "client_message_id": "c1"})
    assert refusal(reply)[:2] == (409, "CONFLICT")
    assert rows("SELECT count(*) FROM cairn.messages") == [(1,)]


async def test_a_client_id_twice_in_one_batch_is_refused(client, rows):
    messages = [{**MESSAGE, "client_message_id": "c1"}] * 2
    reply = await client.post(f"{PATH}/batch", json={"messages": messages})
    assert faults(reply) == ["body.messages.1.client_message_id"]
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


async def test_old_and_new_client_ids_in_one_batch_store_the_new_ones(client, rows):
    old = [{**MESSAGE, "client_message_id": f"c{n}"} for n in range(3)]
    new = [{**MESSAGE, "client_message_id": f"c{n}"} for n in range(3, 5)]
    result(await client.post(f"{PATH}/batch", json={"messages": old}))
    assert result(await client.post(f"{PATH}/batch", json={"messages": old + new}))["message_count"] == 5
    assert rows("SELECT client_message_id FROM cairn.messages ORDER BY seq") == [(f"c{n}",) for n in range(5)]


@pytest.mark.parametrize(
    ("wish", "fields"),
    [
        (None, None),
        (False, None),
        (True, {"id", "summary"}),
        ({"summary": True}, {"id", "summary"}),
        ({"summary": False}, {"id"}),
    ],
)
async def test_telemetry_is_given_to_who_asks(client, wish, fields):
    telemetry = (await client.post(PATH, json={**MESSAGE, "telemetry": wish})).json()["telemetry"]
    assert (set(telemetry) if telemetry else None) == fields
    if fields and "summary" in fields:
        assert telemetry["id"].startswith("tm_")
        assert set(telemetry["summary"]) == {"operation", "status", "duration_ms"}


async def test_the_kind_of_content_that_the_client_states_does_not_matter(client):
    raw = json.dumps(MESSAGE).encode()
    result(await client.post(PATH, content=raw, headers={"content-type": "text/plain"}))
