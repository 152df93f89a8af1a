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
        "cairn": {"working_memory": "none", "placeholder": False, "provider": None, "origins": [], "deferred": []},
    }


async def test_working_memory_shows_its_seven_sections(client, services):
    await say(client, "Please plan the garden.", "We decided on roses.")
    await archive_all(client, services)
    memory = result(await client.get(f"{SESSION}/working-memory"))
    assert [section["section"] for section in memory["sections"]] == SECTIONS
    assert (memory["archive_id"], memory["covered_through_seq"]) == ("archive_001", 2)
    assert memory["cairn"]["provider"] == "extractive"
    assert all(section["body"] in memory["overview"] for section in memory["sections"])


async def test_a_section_is_put_right_by_hand_and_the_next_update_builds_on_it(client, services):
    await say(client, "Please plan the garden. The budget is 900 EUR.")
    await archive_all(client, services)
    corrected = result(
        await client.put(
            f"{SESSION}/working-memory/key-facts-and-decisions", json={"content": "- The budget is 750 EUR."}
        )
    )
    assert (corrected["archive_id"], corrected["revision"]) == ("archive_001", 1)
    facts = next(s for s in corrected["sections"] if s["section"] == "Key Facts & Decisions")
    assert (facts["body"], facts["applied_op"], facts["changed"]) == ("- The budget is 750 EUR.", "CORRECT", True)
    memory = result(await client.get(f"{SESSION}/working-memory"))
    assert "750 EUR" in memory["overview"]
    assert "900 EUR" not in memory["overview"].split("## Files")[0].split("## Key Facts")[1]
    await say(client, "We decided on roses, because Anna likes them.")
    await archive_all(client, services)
    assert "750 EUR" in result(await client.get(f"{SESSION}/working-memory"))["overview"]


async def test_a_section_nobody_knows_and_a_session_without_memory_are_refused(client, services):
    await say(client, "one")
    early = await client.put(f"{SESSION}/working-memory/open-issues", json={"content": "- x"})
    assert (early.status_code, early.json()["error"]["code"]) == (412, "FAILED_PRECONDITION")
    await archive_all(client, services)
    unknown = await client.put(f"{SESSION}/working-memory/appendix", json={"content": "- x"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert "Open Issues" in unknown.json()["error"]["message"]


async def test_the_documents_of_two_archives_can_be_compared(client, services):
    await say(client, "Please plan the garden.")
    await archive_all(client, services)
    await say(client, "We decided on roses, because Anna likes them.")
    await archive_all(client, services)
    first = result(await client.get(f"{SESSION}/archives/archive_001/working-memory"))
    assert "roses" not in first["overview"]
    diff = result(await client.get(f"{SESSION}/archives/archive_002/working-memory/diff"))
    assert diff["against"] == "archive_001"
    assert [section["section"] for section in diff["sections"]] == SECTIONS
    facts = next(s for s in diff["sections"] if s["section"] == "Key Facts & Decisions")
    assert any("roses" in item for item in facts["added"])
    same = result(
        await client.get(f"{SESSION}/archives/archive_002/working-memory/diff", params={"against": "archive_002"})
    )
    assert not any(section["changed"] for section in same["sections"])
    missing = await client.get(f"{SESSION}/archives/archive_002/working-memory/diff", params={"against": "archive_009"})
    assert missing.status_code == 404


async def test_working_memory_says_where_each_section_came_from(client, services):
    await say(client, "Please plan the garden. The budget is 900 EUR.")
    await archive_all(client, services)
    await client.put(f"{SESSION}/working-memory/open-issues", json={"content": "- ask Anna"})
    await say(client, "We decided on roses, because Anna likes them.")
    await archive_all(client, services)
    memory = result(await client.get(f"{SESSION}/working-memory"))
    origins = {o["section"]: (o["archive_id"], o["revision"]) for o in memory["cairn"]["origins"]}
    assert origins["Session Title"] == ("archive_001", 0)
    assert origins["Open Issues"] == ("archive_001", 1)
    assert origins["Key Facts & Decisions"] == ("archive_002", 0)
