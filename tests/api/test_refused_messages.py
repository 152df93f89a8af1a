"""Messages that are refused: by name, and without a trace."""

import pytest

from tests.support.api import faults, result

PATH = "/api/v1/sessions/talk/messages"
MESSAGE = {"role": "user", "content": "x"}
SAID = {"role": "user"}
LONG = "t" * 513


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param({"content": "x"}, "body.role", id="no role"),
        pytest.param({"role": "robot", "content": "x"}, "body.role", id="unknown role"),
        pytest.param({"role": "User", "content": "x"}, "body.role", id="roles are lower case"),
        pytest.param({"role": "user"}, "body", id="neither content nor parts"),
        pytest.param({"role": "user", "content": None}, "body", id="null content alone"),
        pytest.param({**MESSAGE, "user_id": "bob"}, "body.user_id", id="identity user_id"),
        pytest.param({**MESSAGE, "account_id": "acme"}, "body.account_id", id="identity account_id"),
        pytest.param({**MESSAGE, "role_id": "r"}, "body.role_id", id="identity role_id"),
        pytest.param({**MESSAGE, "contnet": "x"}, "body.contnet", id="misspelt field"),
        pytest.param({**MESSAGE, "peer_id": ""}, "body.peer_id", id="empty peer_id"),
        pytest.param({**MESSAGE, "peer_id": "a/b"}, "body.peer_id", id="slash in peer_id"),
        pytest.param({**MESSAGE, "peer_id": "bob\n"}, "body.peer_id", id="newline after peer_id"),
        pytest.param({**MESSAGE, "peer_id": "p" * 257}, "body.peer_id", id="long peer_id"),
        pytest.param({**MESSAGE, "created_at": "yesterday"}, "body.created_at", id="no time"),
        pytest.param({**MESSAGE, "created_at": 1700000000}, "body.created_at", id="number as time"),
        pytest.param({**MESSAGE, "created_at": "9999-12-31T23:59:59-12:00"}, "body.created_at", id="time after time"),
        pytest.param({**MESSAGE, "created_at": "0001-01-01T00:00:00+14:00"}, "body.created_at", id="time before time"),
        pytest.param({**MESSAGE, "client_message_id": ""}, "body.client_message_id", id="empty client id"),
        pytest.param({**MESSAGE, "client_message_id": "c" * 257}, "body.client_message_id", id="long client id"),
        pytest.param({**MESSAGE, "source_message_ids": "a"}, "body.source_message_ids", id="text for a list"),
        pytest.param({"role": "user", "content": ["x"]}, "body.content", id="list as content"),
        pytest.param({"role": "user", "content": 5}, "body.content", id="number as content"),
        pytest.param({**SAID, "parts": {}}, "body.parts", id="object as parts"),
        pytest.param({**SAID, "parts": ["x"]}, "body.parts.0", id="text as part"),
        pytest.param({**SAID, "parts": [{"type": 5}]}, "body.parts.0.type", id="number as type"),
        pytest.param({**SAID, "parts": [{"type": "text", "text": 5}]}, "body.parts.0.text", id="number as text"),
        pytest.param({**SAID, "parts": [{"type": "tool", "tool_id": LONG}]}, "body.parts.0.tool_id", id="long tool_id"),
        pytest.param(
            {**SAID, "parts": [{"type": "tool", "tool_name": []}]}, "body.parts.0.tool_name", id="list as tool_name"
        ),
        pytest.param({**SAID, "parts": [{"type": "context", "uri": 1}]}, "body.parts.0.uri", id="number as uri"),
        pytest.param({"role": "user", "content": "a\x00b"}, "body.content", id="NUL in content"),
        pytest.param(
            {**SAID, "parts": [{"type": "odd", "deep": [{"x": "\x00"}]}]},
            "body.parts.0.deep.0.x",
            id="NUL in an unknown part",
        ),
        pytest.param({**SAID, "parts": [{"a\x00": 1}]}, "body.parts.0.a\ufffd", id="NUL in a name"),
        pytest.param({**SAID, "parts": [{"n": 2**64}]}, "body.parts.0.n", id="huge number"),
    ],
)
async def test_a_refused_message_names_its_field_and_stores_nothing(client, rows, body, named):
    assert faults(await client.post(PATH, json=body)) == [named]
    in_batch = named.replace("body", "body.messages.1", 1)
    assert faults(await client.post(f"{PATH}/batch", json={"messages": [MESSAGE, body]})) == [in_batch]
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        pytest.param(b'{"role":"user","content":"a\\ud800b"}', ["body.content"], id="high half"),
        pytest.param(b'{"role":"user","parts":[{"x":"\\udc00"}]}', ["body.parts.0.x"], id="low half"),
        pytest.param(b'{"role":"user","parts":[{"\\ud800":1}]}', ["body.parts.0.\ufffd"], id="half in a name"),
        pytest.param(b'{"role":"user","parts":[{"x":NaN}]}', ["body.parts.0.x"], id="not a number"),
        pytest.param(b'{"role":"user","parts":[{"x":-Infinity}]}', ["body.parts.0.x"], id="infinity"),
        pytest.param(b'{"role":"user","parts":[{"x":1e999}]}', ["body.parts.0.x"], id="beyond floating point"),
        pytest.param(b'{"role":"user","parts":[{"x":' + b"9" * 5000 + b"}]}", ["body"], id="thousands of digits"),
        pytest.param(b"[" * 100_000, ["body"], id="nesting without end"),
        pytest.param(
            b'{"role":"user","parts":[' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"]}", ["body"], id="deep part"
        ),
        pytest.param(b'{"role":"user","content":"x"', ["body"], id="cut off"),
        pytest.param(b'{"role":"user","content":"\xff\xfe"}', ["body"], id="not UTF-8"),
        pytest.param(b'{"role":"user","content":"\xed\xa0\x80"}', ["body"], id="half a pair in bytes"),
        pytest.param('{"role":"user","content":"x"}'.encode("utf-16"), ["body"], id="UTF-16"),
        pytest.param(b"[]", ["body"], id="list"),
        pytest.param(b"null", ["body"], id="null"),
        pytest.param(b"", ["body.role"], id="nothing"),
    ],
)
async def test_bytes_that_are_no_message_are_refused(client, rows, raw, named):
    assert faults(await client.post(PATH, content=raw)) == named
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


async def test_a_session_takes_more_messages_after_a_refused_one(client):
    assert faults(await client.post(PATH, json={"role": "user", "content": "\x00"})) == ["body.content"]
    assert result(await client.post(PATH, json=MESSAGE))["message_count"] == 1


async def test_101_messages_are_too_many(client):
    assert faults(await client.post(f"{PATH}/batch", json={"messages": [MESSAGE] * 101})) == ["body.messages"]
