"""Sessions over HTTP: make, list, look at, delete."""

import re

import pytest

from tests.support.api import faults, refusal, result

SESSIONS = "/api/v1/sessions"
MESSAGE = {"role": "user", "content": "Hello there"}
SESSION_FIELDS = {
    "session_id", "created_at", "updated_at", "created_by_account_id", "created_by_user_id", "message_count",
    "commit_count", "memories_extracted", "last_commit_at", "llm_token_usage", "embedding_token_usage",
    "pending_tokens", "keep_recent_count", "retention_mode", "keep_recent_turn_count",
    "retained_message_token_budget", "min_raw_tail_steps", "memory_policy", "auto_commit_policy", "last_message_at",
    "last_auto_commit_at", "total_message_count", "uri", "user", "memory_extraction_config",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_a_session_is_made_by_name(client, rows):
    made = result(await client.post(SESSIONS, json={"session_id": "石 碑"}))
    assert made == {
        "session_id": "石 碑",
        "uri": "viking://user/default/sessions/石 碑",
        "user": {"account_id": "default", "user_id": "default"},
        "auto_commit_policy": None,
        "memory_extraction_config": {"events": {"tags": []}},
    }
    assert rows("SELECT name FROM cairn.sessions") == [("石 碑",)]


@pytest.mark.parametrize("body", [{}, {"session_id": None}, None])
async def test_a_session_without_a_name_gets_a_fresh_one(client, body):
    made = result(await client.post(SESSIONS, json=body) if body is not None else await client.post(SESSIONS))
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{16}", made["session_id"])


async def test_a_second_session_of_that_name_is_a_conflict(client):
    result(await client.post(SESSIONS, json={"session_id": "a"}))
    reply = await client.post(SESSIONS, json={"session_id": "a"})
    assert refusal(reply)[:2] == (409, "ALREADY_EXISTS")
    assert reply.json()["error"]["details"] == {"type": "session", "resource": "a"}


async def test_a_policy_is_filled_up(client):
    policy = {"message_count_threshold": 5}
    made = result(await client.post(SESSIONS, json={"session_id": "a", "auto_commit_policy": policy}))
    assert made["auto_commit_policy"] == {
        "pending_token_threshold": 150_000,
        "message_count_threshold": 5,
        "idle_timeout_seconds": 86_400,
        "keep_recent_count": 0,
        "min_commit_interval_seconds": 0,
    }
    seen = result(await client.get(f"{SESSIONS}/a"))
    assert seen["auto_commit_policy"] == made["auto_commit_policy"]


async def test_policies_are_kept_as_they_were_given(client):
    config = {"events": {"tags": ["project=cairn"]}, "more": 1}
    body = {"session_id": "a", "memory_policy": {"kinds": ["profile"]}, "memory_extraction_config": config}
    result(await client.post(SESSIONS, json=body))
    seen = result(await client.get(f"{SESSIONS}/a"))
    assert (seen["memory_policy"], seen["memory_extraction_config"]) == ({"kinds": ["profile"]}, config)


async def test_a_session_shows_every_field_that_clients_read(client):
    result(await client.post(f"{SESSIONS}/a/messages", json=MESSAGE))
    seen = result(await client.get(f"{SESSIONS}/a"))
    assert set(seen) == SESSION_FIELDS
    assert TIME.fullmatch(seen["created_at"])
    assert TIME.fullmatch(seen["last_message_at"])
    assert (seen["message_count"], seen["total_message_count"], seen["commit_count"]) == (1, 1, 0)
    assert seen["pending_tokens"] == 2
    assert seen["memories_extracted"] == {"total": 0}
    assert seen["user"] == {"account_id": "default", "user_id": "default"}


async def test_live_messages_and_all_messages_are_counted_apart(client):
    for _ in range(3):
        result(await client.post(f"{SESSIONS}/a/messages", json=MESSAGE))
    result(await client.post(f"{SESSIONS}/a/commit", json={"keep_recent_count": 1}))
    seen = result(await client.get(f"{SESSIONS}/a"))
    assert (seen["message_count"], seen["total_message_count"], seen["commit_count"]) == (1, 3, 1)
    assert (seen["keep_recent_count"], seen["pending_tokens"]) == (1, 0)


async def test_looking_at_a_session_does_not_make_it(client, rows):
    assert refusal(await client.get(f"{SESSIONS}/none")) == (404, "NOT_FOUND", "Session none not found")
    assert rows("SELECT count(*) FROM cairn.sessions") == [(0,)]


@pytest.mark.parametrize("yes", ["true", "True", "1"])
async def test_looking_at_a_session_makes_it_on_request(client, yes):
    assert result(await client.get(f"{SESSIONS}/new", params={"auto_create": yes}))["message_count"] == 0


async def test_sessions_are_listed_with_the_one_that_spoke_last_first(client):
    for name in ("a", "b", "c", "a"):
        result(await client.post(f"{SESSIONS}/{name}/messages", json=MESSAGE))
    listed = result(await client.get(SESSIONS, params={"limit": "1", "offset": "no number", "profile": 1}))
    assert [one["session_id"] for one in listed] == ["a", "c", "b"]
    assert set(listed[0]) == {"session_id", "uri", "is_dir", "mod_time"}
    assert listed[0]["is_dir"] is True
    assert TIME.fullmatch(listed[0]["mod_time"])


async def test_deleting_a_session_leaves_nothing(client, rows):
    result(await client.post(f"{SESSIONS}/a/messages", json=MESSAGE))
    result(await client.post(f"{SESSIONS}/a/commit", json={}))
    deleted = result(await client.delete(f"{SESSIONS}/a"))
    receipt = deleted["cairn"]["deleted_rows"]
    assert (deleted["session_id"], receipt["sessions"], receipt["messages"]) == ("a", 1, 1)
    assert deleted["cairn"]["deleted_rows_total"] == sum(receipt.values())
    for table in ("sessions", "messages", "archives", "jobs"):
        assert rows(f"SELECT count(*) FROM cairn.{table}") == [(0,)], table
    assert refusal(await client.delete(f"{SESSIONS}/a")) == (404, "NOT_FOUND", "Session not found: a")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("..", 403, id="climbs"),
        pytest.param("a..b", 403, id="climbs inside"),
        pytest.param("", 400, id="empty"),
        pytest.param("  ", 400, id="blank"),
        pytest.param("a/b", 400, id="slash"),
        pytest.param("a\\b", 400, id="backslash"),
        pytest.param("a\nb", 400, id="line break"),
        pytest.param("x" * 1025, 400, id="long"),
        pytest.param("石" * 342, 400, id="long in bytes"),
    ],
)
async def test_names_that_cannot_be_are_refused(client, name, status):
    code = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED"}[status]
    assert refusal(await client.post(SESSIONS, json={"session_id": name}))[:2] == (status, code)


@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", ""), ("GET", "?auto_create=1"), ("DELETE", ""), ("GET", "/context"), ("GET", "/archives"),
     ("GET", "/archives/archive_001"), ("GET", "/working-memory"), ("POST", "/commit"), ("POST", "/messages"),
     ("POST", "/messages/batch")],
)  # fmt: skip
async def test_no_route_takes_a_name_with_a_control_character(client, method, rest):
    body = {"/messages": MESSAGE, "/messages/batch": {"messages": [MESSAGE]}, "/commit": {}}.get(rest)
    assert refusal(await client.request(method, f"{SESSIONS}/a%00b{rest}", json=body))[:2] == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"session": "a"}, "body.session"),
        ({"session_id": 5}, "body.session_id"),
        ({"user_id": "bob"}, "body.user_id"),
        ({"memory_policy": []}, "body.memory_policy"),
        ({"auto_commit_policy": {"every": 5}}, "body.auto_commit_policy.every"),
        ({"auto_commit_policy": {"keep_recent_count": "many"}}, "body.auto_commit_policy.keep_recent_count"),
        ({"auto_commit_policy": {"keep_recent_count": [5]}}, "body.auto_commit_policy.keep_recent_count"),
        ({"auto_commit_policy": "x"}, "body.auto_commit_policy"),
        ({"auto_commit_policy": {"keep_recent_count": None}}, "body.auto_commit_policy.keep_recent_count"),
        ({"telemetry": "yes"}, "body.telemetry.bool"),
        ({"session_id": "a\x00"}, "body.session_id"),
    ],
)
async def test_a_refused_session_names_its_field(client, rows, body, named):
    assert faults(await client.post(SESSIONS, json=body))[0] == named
    assert rows("SELECT count(*) FROM cairn.sessions") == [(0,)]


async def test_the_same_name_under_two_users_is_two_sessions(client):
    for user in ("ann", "bob"):
        headers = {"X-OpenViking-Account": "acme", "X-OpenViking-User": user}
        result(await client.post(f"{SESSIONS}/a/messages", json={"role": "user", "content": user}, headers=headers))
        seen = result(await client.get(f"{SESSIONS}/a", headers=headers))
        assert (seen["message_count"], seen["uri"]) == (1, f"viking://user/{user}/sessions/a")
