"""Commits and tasks over HTTP, with a worker that really works."""

from uuid import UUID

import pytest

from app.domain.errors import ModelRefused
from tests.support.api import calling, faults, refusal, result
from tests.support.fake_model import FakeModel
from tests.support.house import house, working

SESSION = "/api/v1/sessions/talk"
ACCEPTED = {
    "session_id", "status", "task_id", "archive_uri", "archived", "trace_id", "estimated_active_tokens",
    "budget_exceeded", "cairn",
}  # fmt: skip
SKIPPED = {"session_id", "status", "task_id", "archive_uri", "archived", "reason", "trace_id", "cairn"}
TASK = {
    "task_id", "task_type", "status", "created_at", "updated_at", "resource_id", "meta", "stage", "result", "error",
    "created_at_iso", "updated_at_iso", "cairn",
}  # fmt: skip
RESULT = {
    "session_id", "archive_uri", "memories_extracted", "memory_extraction", "token_usage", "memory_diff_uri",
    "active_count_updated", "cairn",
}  # fmt: skip


async def talk(client, count=3):
    messages = [{"role": "user", "content": f"Please keep {n} apples."} for n in range(count)]
    result(await client.post(f"{SESSION}/messages/batch", json={"messages": messages}))


async def commit(client, **body):
    return result(await client.post(f"{SESSION}/commit", json=body))


async def test_a_commit_answers_with_the_task_of_its_work(client, rows):
    await talk(client)
    reply = await client.post(f"{SESSION}/commit", json={"keep_recent_count": 1})
    assert set(reply.json()) == {"status", "result"}
    accepted = result(reply)
    assert set(accepted) == ACCEPTED
    assert accepted | {"task_id": "", "trace_id": ""} == {
        "session_id": "talk",
        "status": "accepted",
        "task_id": "",
        "archive_uri": "viking://user/default/sessions/talk/history/archive_001",
        "archived": True,
        "trace_id": "",
        "estimated_active_tokens": 0,
        "budget_exceeded": False,
        "cairn": {"provider": "extractive", "archive_id": "archive_001"},
    }
    assert accepted["trace_id"] == reply.headers["x-request-id"]
    assert rows("SELECT task_id, first_seq, last_seq FROM cairn.archives") == [(UUID(accepted["task_id"]), 1, 2)]


@pytest.mark.parametrize("raw", [b"{}", b""])
async def test_a_commit_without_a_body_archives_everything(client, raw):
    await talk(client)
    assert result(await client.post(f"{SESSION}/commit", content=raw))["archived"] is True
    assert result(await client.get(SESSION))["message_count"] == 0


async def test_a_commit_with_nothing_to_archive_is_no_error(client):
    await talk(client)
    kept = await commit(client, keep_recent_count=10)
    assert set(kept) == SKIPPED | {"estimated_active_tokens", "budget_exceeded"}
    assert (kept["status"], kept["archived"], kept["task_id"]) == ("skipped", False, None)
    assert (kept["archive_uri"], kept["reason"]) == (None, "all_within_keep_window")
    await commit(client)
    empty = await commit(client)
    assert (set(empty), empty["reason"]) == (SKIPPED, "no_messages")


async def test_a_commit_of_a_missing_session_says_so_in_the_words_clients_know(client):
    reply = await client.post(f"{SESSION}/commit", json={})
    assert refusal(reply) == (404, "NOT_FOUND", "Session not found: talk")
    assert reply.json()["error"]["details"] == {"type": "session", "resource": "talk"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"keep_recent": 5}, "body.keep_recent"),
        ({"keep_recent_count": -1}, "body.keep_recent_count"),
        ({"keep_recent_count": 10_001}, "body.keep_recent_count"),
        ({"keep_recent_count": "5"}, "body.keep_recent_count"),
        ({"keep_recent_count": 5.0}, "body.keep_recent_count"),
        ({"keep_recent_count": True}, "body.keep_recent_count"),
        ({"keep_recent_count": None}, "body.keep_recent_count"),
        ({"keep_recent_count": 10**30}, "body.keep_recent_count"),
        ({"wait": 1}, "body.wait"),
        ({"timeout": -1}, "body.timeout"),
        ({"retention_mode": "forever"}, "body.retention_mode"),
        ({"user_id": "bob"}, "body.user_id"),
        ({"extraction_metadata": []}, "body.extraction_metadata"),
    ],
)
async def test_a_misspelt_or_wrong_option_archives_nothing(client, rows, body, named):
    await talk(client)
    assert faults(await client.post(f"{SESSION}/commit", json=body)) == [named]
    assert rows("SELECT count(*) FROM cairn.archives") == [(0,)]


@pytest.mark.parametrize("field", ["keep_recent_turn_count", "retained_message_token_budget", "min_raw_tail_steps"])
async def test_a_field_of_the_turn_budget_needs_its_mode(client, rows, field):
    await talk(client)
    for mode in ({}, {"retention_mode": "message_count"}):
        reply = await client.post(f"{SESSION}/commit", json={field: 3, **mode})
        assert refusal(reply)[:2] == (400, "INVALID_ARGUMENT")
        assert reply.json()["error"]["details"]["field"] == field
    assert rows("SELECT count(*) FROM cairn.archives") == [(0,)]


async def test_a_commit_by_turns_says_how_much_stays_visible(client):
    await talk(client, 4)
    tokens = result(await client.get(SESSION))["pending_tokens"] // 4
    accepted = await commit(client, keep_recent_count=0, retention_mode="turn_budget", keep_recent_turn_count=2)
    assert (accepted["estimated_active_tokens"], accepted["budget_exceeded"]) == (2 * tokens, False)
    seen = result(await client.get(SESSION))
    assert (seen["message_count"], seen["pending_tokens"], seen["retention_mode"]) == (2, 0, "turn_budget")
    assert (seen["keep_recent_turn_count"], seen["retained_message_token_budget"]) == (2, 12_000)
    assert seen["min_raw_tail_steps"] == 1
    by_turns = {"retention_mode": "turn_budget", "retained_message_token_budget": 1, "keep_recent_turn_count": 1}
    assert (await commit(client, **by_turns))["budget_exceeded"] is True
    assert (await commit(client, **by_turns))["reason"] == "all_within_keep_window"


async def test_a_commit_without_working_memory_is_finished_at_once(client):
    await talk(client)
    accepted = await commit(client, enable_working_memory=False, wait=True, timeout=5)
    assert accepted["cairn"]["task"]["status"] == "completed"
    assert accepted["cairn"]["task"]["cairn"]["outcome"] == "nothing_to_remember"
    assert result(await client.get(f"{SESSION}/context"))["messages"] == []


@pytest.mark.parametrize("metadata", [{"event": []}, {"event": {"tags": "a=b"}}, {"event": {"tags": [1]}}])
async def test_tags_that_cannot_be_archive_nothing(client, rows, metadata):
    await talk(client)
    reply = await client.post(f"{SESSION}/commit", json={"extraction_metadata": metadata})
    assert refusal(reply)[:2] == (400, "INVALID_ARGUMENT")
    assert rows("SELECT count(*) FROM cairn.archives") == [(0,)]


async def test_every_option_that_clients_send_is_known(client):
    await talk(client)
    body = {
        "keep_recent_count": 1,
        "enable_working_memory": True,
        "extraction_metadata": {"event": {"tags": ["a:b"]}},
        "telemetry": False,
        "wait": False,
        "timeout": 5,
    }
    assert (await commit(client, **body))["archived"] is True


async def test_telemetry_of_a_commit_stands_beside_the_result(client):
    await talk(client)
    reply = await client.post(f"{SESSION}/commit", json={"telemetry": True})
    assert set(reply.json()) == {"status", "result", "telemetry"}
    assert reply.json()["telemetry"]["summary"]["operation"] == "session.commit"


async def test_waiting_for_a_commit_shows_the_finished_task(client, services):
    await talk(client)
    async with working(services):
        accepted = await commit(client, wait=True, timeout=30)
    task = accepted["cairn"]["task"]
    assert (task["task_id"], task["status"]) == (accepted["task_id"], "completed")


async def test_waiting_no_longer_than_asked_shows_the_task_as_it_is(client):
    await talk(client)
    accepted = await commit(client, wait=True, timeout=0)
    assert accepted["cairn"]["task"]["status"] == "pending"


async def test_a_task_has_every_field_that_clients_read(client, services):
    await talk(client)
    accepted = await commit(client)
    path = f"/api/v1/tasks/{accepted['task_id']}"
    waiting = result(await client.get(path))
    assert set(waiting) == TASK
    assert (waiting["status"], waiting["task_type"], waiting["resource_id"]) == ("pending", "session_commit", "talk")
    assert (waiting["result"], waiting["error"]) == (None, None)
    assert isinstance(waiting["created_at"], float)
    async with working(services):
        await services.tasks.wait(await scope_of(services), accepted["task_id"], 30)
    done = result(await client.get(path))
    assert (done["status"], done["stage"], done["error"]) == ("completed", "completed", None)
    assert set(done["result"]) == RESULT
    assert done["result"]["session_id"] == "talk"
    assert done["result"]["archive_uri"] == accepted["archive_uri"]
    assert done["result"]["memories_extracted"] == {}
    assert done["cairn"]["provider"] == "extractive"
    assert done["cairn"]["outcome"] == done["result"]["cairn"]["outcome"]
    assert [(step["step"], step["state"]) for step in done["cairn"]["steps"]] == [
        ("working_memory", "done"), ("long_term_memory", "off"), ("embedding", "skipped"),
    ]  # fmt: skip


async def scope_of(services):
    scope = await services.identity.by_names("default", "default", create=True)
    assert scope
    return scope


async def test_a_failed_task_says_why(database_url):
    refused = ModelRefused("The key of the model service is wrong.")
    async with house(database_url, FakeModel(refused)) as services, calling(services) as client:
        await talk(client)
        async with working(services):
            task = (await commit(client, wait=True, timeout=30))["cairn"]["task"]
    assert (task["status"], task["result"]) == ("failed", None)
    assert "The key of the model service is wrong." in task["error"]


async def test_tasks_are_listed_with_the_newest_first(client):
    ids = []
    for _ in range(3):
        await talk(client)
        ids.append((await commit(client))["task_id"])
    listed = result(await client.get("/api/v1/tasks"))
    assert [task["task_id"] for task in listed] == ids[::-1]
    limited = result(await client.get("/api/v1/tasks", params={"limit": 1, "task_type": "session_commit"}))
    assert [task["task_id"] for task in limited] == ids[-1:]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"resource_id": "talk"}, 1),
        ({"resource_id": "other"}, 0),
        ({"status": "pending"}, 1),
        ({"status": "completed"}, 0),
        ({"task_type": "session_commit"}, 1),
        ({"task_type": "reindex"}, 0),
        ({"unknown": "x"}, 1),
    ],
)
async def test_tasks_can_be_filtered(client, query, found):
    await talk(client)
    await commit(client)
    assert len(result(await client.get("/api/v1/tasks", params=query))) == found


@pytest.mark.parametrize("query", ["status=odd", "limit=0", "limit=x", "limit=99999999999999999999", "resource_id=%00"])
async def test_a_filter_that_cannot_be_is_refused(client, query):
    assert refusal(await client.get(f"/api/v1/tasks?{query}"))[:2] == (400, "INVALID_ARGUMENT")


async def test_a_waiting_task_can_be_cancelled_once(client):
    await talk(client)
    path = f"/api/v1/tasks/{(await commit(client))['task_id']}"
    cancelled = result(await client.post(f"{path}/cancel"))
    assert cancelled["status"] == "cancelled"
    assert refusal(await client.post(f"{path}/cancel"))[:2] == (412, "FAILED_PRECONDITION")
    assert len(result(await client.get(f"{SESSION}/context"))["messages"]) == 3


@pytest.mark.parametrize("task_id", ["no-uuid", "00000000-0000-0000-0000-000000000000", "石"])
@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", "/cancel")])
async def test_an_unknown_task_is_not_found(client, method, rest, task_id):
    reply = await client.request(method, f"/api/v1/tasks/{task_id}{rest}")
    assert refusal(reply)[:2] == (404, "NOT_FOUND")
    assert reply.json()["error"]["details"]["type"] == "task"
