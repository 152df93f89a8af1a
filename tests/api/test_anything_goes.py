"""Whatever is sent, the answer is a refusal or a result, never a server error."""

import json
from urllib.parse import quote

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.route_table import ROUTES

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["user", "tool", "text", "2026-01-01", "a" * 600, "..", "turn_budget", "\ud800", "\x00"])
)
NAMES = st.text(st.characters(), max_size=10)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "tool", "context", "image", "odd"]) | JSON},
        optional=dict.fromkeys(
            ("text", "tool_id", "tool_status", "tool_input", "tool_output", "uri", "abstract"), JSON
        ),
    ),
    max_size=4,
)
FIELDS = {
    "role": st.sampled_from(["user", "assistant", "system", "tool"]) | JSON,
    "content": JSON,
    "parts": PARTS | JSON,
    "created_at": st.datetimes().map(str) | st.text(max_size=30) | JSON,
    "peer_id": st.text("abz09_.@-", max_size=9) | JSON,
    "client_message_id": st.text(max_size=9) | JSON,
    "source_message_ids": JSON,
    "turn_id": JSON,
    "keep_recent_count": JSON,
    "timeout": JSON,
    "extraction_metadata": JSON,
    "session_id": JSON,
    "memory_policy": JSON,
    "auto_commit_policy": JSON,
    "memory_extraction_config": JSON,
    "telemetry": JSON,
}
MESSAGE = st.fixed_dictionaries(
    {"role": FIELDS["role"]},
    optional={name: FIELDS[name] for name in list(FIELDS)[1:8]},
)
BODY = MESSAGE | st.fixed_dictionaries({"messages": st.lists(MESSAGE, max_size=3)}) | st.dictionaries(
    st.sampled_from(sorted(FIELDS)), JSON, max_size=5
) | JSON  # fmt: skip
WRITES = [case for case in ROUTES if case.method == "POST" and case.audience == "tenant"]
READS = [case for case in ROUTES if case.method == "GET" and case.audience in {"tenant", "tasks"}]

relaxed = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@relaxed
@given(case=st.sampled_from(WRITES), body=BODY)
async def test_no_body_is_a_server_error(client: httpx.AsyncClient, case, body):
    raw = json.dumps(body).encode()
    reply = await client.post(case.path, content=raw)
    assert reply.status_code in {200, 400, 403, 404, 409, 412, 501}, (case.route, raw, reply.text)
    assert reply.json()["status"] == ("ok" if reply.status_code == 200 else "error")


@relaxed
@given(case=st.sampled_from(WRITES), raw=st.binary(max_size=60))
async def test_no_bytes_are_a_server_error(client: httpx.AsyncClient, case, raw):
    reply = await client.post(case.path, content=raw)
    assert reply.status_code < 500, (case.route, raw, reply.text)


@relaxed
@given(case=st.sampled_from(READS), name=st.text(min_size=1, max_size=20), query=st.text(max_size=20))
async def test_no_address_is_a_server_error(client: httpx.AsyncClient, case, name, query):
    path = case.path.replace("talk", quote(name, safe=""))
    keys = ["token_budget", "auto_create", "limit", "status", "resource_id", "task_type"]
    reply = await client.get(path.partition("?")[0], params=dict.fromkeys(keys, query))
    assert reply.status_code < 500, (path, query, reply.text)


@relaxed
@given(body=MESSAGE)
async def test_what_was_taken_can_be_read_back(client: httpx.AsyncClient, body):
    added = await client.post("/api/v1/sessions/talk/messages", content=json.dumps(body).encode())
    context = await client.get("/api/v1/sessions/talk/context")
    deleted = await client.delete("/api/v1/sessions/talk")
    assert {context.status_code, deleted.status_code} == ({200} if added.status_code == 200 else {404})
