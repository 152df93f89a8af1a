"""Working memories over HTTP."""

from tests.support.api import result
from tests.support.house import working

SESSION = "/api/v1/sessions/talk"
SECTIONS = [
    "Session Title", "Current State", "Task & Goals", "Key Facts & Decisions", "Files & Context",
    "Errors & Corrections", "Open Issues",
]  # fmt: skip


async def say(client, *texts):
    messages = [{"role": "user", "content": text} for text in texts]
    result(await client.post(f"{SESSION}/messages/batch", json={"messages": messages}))


async def archive_all(client, services):
    async with working(services):
        accepted = result(await client.post(f"{SESSION}/commit", json={"wait": True, "timeout": 30}))
    assert accepted["cairn"]["task"]["status"] == "completed"


async def test_working_memory_is_empty_before_the_first_archive(client):
    await say(client, "one")
    assert result(await client.get(f"{SESSION}/working-memory")) == {
        "session_id": "talk",
        "archive_id": None,
        "revision": 0,
        "covered_through_seq": 0,
        "overview": "",
        "tokens": 0,
        "sections": [],
        "cairn": {"provider": None, "deferred": []},
    }


async def test_working_memory_shows_its_seven_sections(client, services):
    await say(client, "Please plan the garden.", "We decided on roses.")
    await archive_all(client, services)
    memory = result(await client.get(f"{SESSION}/working-memory"))
    assert [section["section"] for section in memory["sections"]] == SECTIONS
    assert (memory["archive_id"], memory["covered_through_seq"]) == ("archive_001", 2)
    assert memory["cairn"]["provider"] == "extractive"
    assert all(section["body"] in memory["overview"] for section in memory["sections"])
