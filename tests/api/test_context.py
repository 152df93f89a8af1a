"""Contexts and archives over HTTP."""

import pytest

from tests.support.api import faults, refusal, result
from tests.support.house import working

SESSION = "/api/v1/sessions/talk"
CONTEXT = {"latest_archive_overview", "pre_archive_abstracts", "messages", "estimatedTokens", "stats", "cairn"}
STATS = {"totalArchives", "includedArchives", "droppedArchives", "failedArchives", "activeTokens", "archiveTokens"}
ADDITIONS = {
    "watermark", "working_memory", "placeholder", "provider", "archive_id", "deferred", "dropped_messages",
    "shortened_messages", "omitted_sections", "order_of_sacrifice",
}  # fmt: skip
ARCHIVE = {"archive_id", "abstract", "overview", "messages", "cairn"}
SECTIONS = 7


async def say(client, *texts):
    messages = [{"role": "user", "content": text} for text in texts]
    result(await client.post(f"{SESSION}/messages/batch", json={"messages": messages}))


async def archive_all(client, services):
    async with working(services):
        accepted = result(await client.post(f"{SESSION}/commit", json={"wait": True, "timeout": 30}))
    assert accepted["cairn"]["task"]["status"] == "completed"


def texts(view):
    return [message["parts"][0]["text"] for message in view["messages"]]


async def test_a_context_has_every_field_that_clients_read(client):
    await say(client, "one", "two")
    context = result(await client.get(f"{SESSION}/context"))
    assert (set(context), set(context["stats"]), set(context["cairn"])) == (CONTEXT, STATS, ADDITIONS)
    assert (context["latest_archive_overview"], context["pre_archive_abstracts"]) == ("", [])
    assert context["cairn"]["watermark"] == {"covered_through_seq": 0, "last_seq": 2, "pending_archives": 0}
    assert texts(context) == ["one", "two"]


async def test_archived_messages_stay_in_the_context_until_memory_covers_them(client, services):
    await say(client, "We decided on PostgreSQL.", "Please write the report.")
    result(await client.post(f"{SESSION}/commit", json={}))
    await say(client, "later")
    between = result(await client.get(f"{SESSION}/context"))
    assert texts(between) == ["We decided on PostgreSQL.", "Please write the report.", "later"]
    assert between["cairn"]["watermark"] == {"covered_through_seq": 0, "last_seq": 3, "pending_archives": 1}
    await archive_all(client, services)
    after = result(await client.get(f"{SESSION}/context"))
    assert after["messages"] == []
    assert after["latest_archive_overview"].count("\n## ") == SECTIONS
    assert after["cairn"]["watermark"]["covered_through_seq"] == 3
    assert (after["cairn"]["provider"], after["cairn"]["archive_id"]) == ("extractive", "archive_002")
    assert (after["stats"]["totalArchives"], after["stats"]["includedArchives"]) == (2, 1)


async def test_a_context_keeps_its_budget_and_a_larger_one_never_shows_less(client, services):
    await say(client, "We decided on PostgreSQL because of its transactions.")
    await archive_all(client, services)
    await say(client, *(f"message {n} with a few words" for n in range(20)))
    shown = []
    for budget in (0, 5, 50, 100, 200, 1000, 128_000):
        context = result(await client.get(f"{SESSION}/context", params={"token_budget": budget}))
        stats = context["stats"]
        assert context["estimatedTokens"] == stats["activeTokens"] + stats["archiveTokens"] <= budget
        assert context["cairn"]["dropped_messages"] == 20 - len(context["messages"])
        shown.append(len(context["messages"]))
    assert (shown[0], shown[-1], shown) == (0, 20, sorted(shown))


@pytest.mark.parametrize("budget", ["-1", "many", "1.5", "", "9" * 30])
async def test_a_budget_that_cannot_be_is_refused(client, budget):
    await say(client, "x")
    reply = await client.get(f"{SESSION}/context", params={"token_budget": budget})
    assert faults(reply) == ["query.token_budget"]


async def test_a_call_stands_before_its_result_after_archiving_too(client):
    call = {"type": "tool", "tool_id": "t1", "tool_name": "w", "tool_input": {"q": "rain"}, "tool_status": "running"}
    answer = {"type": "tool", "tool_id": "t1", "tool_output": "wet", "tool_status": "completed"}
    spoken = [
        {"role": "assistant", "parts": [{"type": "text", "text": "I will look."}, call]},
        {"role": "user", "parts": [answer]},
        {"role": "assistant", "content": "It rains."},
    ]
    result(await client.post(f"{SESSION}/messages/batch", json={"messages": spoken}))
    context = result(await client.get(f"{SESSION}/context"))
    result(await client.post(f"{SESSION}/commit", json={}))
    archive = result(await client.get(f"{SESSION}/archives/archive_001"))
    for view in (context, archive):
        tools = [part for message in view["messages"] for part in message["parts"] if part["type"] == "tool"]
        assert tools[0]["tool_input"] == {"q": "rain"}
        assert (tools[1]["tool_id"], tools[1]["tool_output"]) == ("t1", "wet")
        assert view["messages"][2]["parts"] == [{"type": "text", "text": "It rains."}]


async def test_an_archive_can_be_read_in_every_state(client, services):
    await say(client, "Please keep three apples.", "And two pears.")
    result(await client.post(f"{SESSION}/commit", json={"keep_recent_count": 1}))
    waiting = result(await client.get(f"{SESSION}/archives/archive_001"))
    assert set(waiting) == ARCHIVE
    assert (waiting["overview"], waiting["cairn"]["status"]) == ("", "pending")
    assert texts(waiting) == ["Please keep three apples."]
    await archive_all(client, services)
    done = result(await client.get(f"{SESSION}/archives/archive_001"))
    assert done["cairn"]["status"] == "completed"
    assert done["overview"].count("\n## ") == SECTIONS
    assert texts(done) == ["Please keep three apples."]


async def test_archives_are_listed_with_the_oldest_first(client):
    for text in ("one", "two"):
        await say(client, text)
        result(await client.post(f"{SESSION}/commit", json={}))
    listed = result(await client.get(f"{SESSION}/archives"))
    assert [(one["archive_id"], one["first_seq"], one["last_seq"]) for one in listed] == [
        ("archive_001", 1, 1),
        ("archive_002", 2, 2),
    ]
    assert listed[0]["uri"] == "viking://user/default/sessions/talk/history/archive_001"
    assert {one["status"] for one in listed} == {"pending"}


@pytest.mark.parametrize(
    "archive_id", ["archive_002", "archive_1", "archive_0001", "archive_000", "archive_999999999", "x", "石"]
)
async def test_an_archive_that_is_not_there_is_not_found(client, archive_id):
    await say(client, "one")
    result(await client.post(f"{SESSION}/commit", json={}))
    assert refusal(await client.get(f"{SESSION}/archives/{archive_id}"))[:2] == (404, "NOT_FOUND")


@pytest.mark.parametrize("rest", ["/context", "/archives", "/archives/archive_001", "/working-memory"])
async def test_reading_a_missing_session_makes_none(client, rows, rest):
    reply = await client.get(f"{SESSION}{rest}")
    assert refusal(reply) == (404, "NOT_FOUND", "Session not found: talk")
    assert reply.json()["error"]["details"] == {"type": "session", "resource": "talk"}
    assert rows("SELECT count(*) FROM cairn.sessions") == [(0,)]
