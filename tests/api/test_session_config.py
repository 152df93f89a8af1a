"""When a session commits itself, over HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.api import faults, refusal, result
from tests.support.handed_data import load_test_data, skipped_without_data

SESSIONS = "/api/v1/sessions"
CONFIG = f"{SESSIONS}/talk/config"
DEFAULTS = {
    "pending_token_threshold": 150_000,
    "message_count_threshold": 100,
    "idle_timeout_seconds": 86_400,
    "keep_recent_count": 0,
    "min_commit_interval_seconds": 0,
}


async def make(client, **body):
    return result(await client.post(SESSIONS, json={"session_id": "talk", **body}))


async def change(client, **body):
    return result(await client.patch(CONFIG, json=body))


async def test_a_policy_is_merged_field_by_field(client):
    await make(client)
    nothing = await change(client)
    assert nothing["auto_commit_policy"] is None
    assert (nothing["session_id"], nothing["memory_extraction_config"]) == ("talk", {"events": {"tags": []}})
    first = await change(client, auto_commit_policy={"message_count_threshold": 5})
    assert first["auto_commit_policy"] == DEFAULTS | {"message_count_threshold": 5}
    second = await change(client, auto_commit_policy={"keep_recent_count": 2}, telemetry=False)
    assert second["auto_commit_policy"] == DEFAULTS | {"message_count_threshold": 5, "keep_recent_count": 2}
    seen = result(await client.get(f"{SESSIONS}/talk"))
    assert seen["auto_commit_policy"] == second["auto_commit_policy"]


async def test_null_turns_a_policy_off(client):
    await make(client, auto_commit_policy={"message_count_threshold": 5})
    assert (await change(client, auto_commit_policy=None))["auto_commit_policy"] is None
    assert result(await client.get(f"{SESSIONS}/talk"))["auto_commit_policy"] is None
    assert (await change(client, auto_commit_policy={}))["auto_commit_policy"] == DEFAULTS


async def test_tags_are_kept_in_one_form_and_the_policy_stays(client):
    await make(client, auto_commit_policy={})
    config = {"events": {"tags": ["Team=Red", "team=Blue", "odd"]}}
    changed = await change(client, memory_extraction_config=config)
    assert changed["memory_extraction_config"] == {"events": {"tags": ["team=blue"]}}
    assert changed["auto_commit_policy"] == DEFAULTS
    again = await change(client, auto_commit_policy={"keep_recent_count": 1})
    assert again["memory_extraction_config"] == changed["memory_extraction_config"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"retention": 1}, "body.retention"),
        ({"auto_commit_policy": {"every": 5}}, "body.auto_commit_policy.every"),
        ({"auto_commit_policy": {"keep_recent_count": None}}, "body.auto_commit_policy.keep_recent_count"),
        ({"auto_commit_policy": {"idle_timeout_seconds": "soon"}}, "body.auto_commit_policy.idle_timeout_seconds"),
        ({"memory_extraction_config": []}, "body.memory_extraction_config"),
    ],
)
async def test_a_wrong_change_changes_nothing(client, body, named):
    await make(client, auto_commit_policy={"message_count_threshold": 5})
    assert faults(await client.patch(CONFIG, json=body)) == [named]
    seen = result(await client.get(f"{SESSIONS}/talk"))
    assert seen["auto_commit_policy"]["message_count_threshold"] == 5


async def test_a_session_that_is_not_there_cannot_be_changed(client):
    assert refusal(await client.patch(CONFIG, json={})) == (404, "NOT_FOUND", "Session not found: talk")


async def test_wrong_policies_of_memory_make_no_session(client, rows):
    for body in ({"memory_policy": {"working_memory": "no"}}, {"memory_extraction_config": {"events": 1}}):
        assert refusal(await client.post(SESSIONS, json=body))[:2] == (400, "INVALID_ARGUMENT")
    assert rows("SELECT count(*) FROM cairn.sessions") == [(0,)]


async def test_a_message_over_the_limit_is_answered_as_it_was_stored(client):
    await make(client, auto_commit_policy={"message_count_threshold": 1})
    for count in (1, 2):
        added = result(await client.post(f"{SESSIONS}/talk/messages", json={"role": "user", "content": "Hello"}))
        assert added["message_count"] == count
    seen = result(await client.get(f"{SESSIONS}/talk"))
    assert (seen["message_count"], seen["commit_count"], seen["pending_tokens"]) == (0, 1, 0)
    assert seen["last_auto_commit_at"] == seen["last_commit_at"]


def vectors() -> list[Mapping[str, Any]]:
    """Return the handed policies, but for null, which is off here."""
    handed = load_test_data("vectors", "working_memory.json")
    return [
        vector
        for vector in (handed["vectors"] if handed else [])
        if vector["group"] == "auto_commit_policy" and vector["input"]["policy"] is not None
    ]


@pytest.mark.parametrize("vector", vectors() or [skipped_without_data()], ids=lambda vector: vector["id"])
async def test_policies_are_read_as_the_handed_cases_say(client, vector):
    reply = await client.post(SESSIONS, json={"auto_commit_policy": vector["input"]["policy"]})
    if "error" in vector["expected"]:
        assert refusal(reply)[1] == vector["expected"]["error"]
    else:
        assert result(reply)["auto_commit_policy"] == vector["expected"]["policy"]
