"""What clients are told while no model answers, and of messages that it saw in part."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.domain.errors import ModelRefused
from tests.support.api import calling, result
from tests.support.fake_model import FakeModel
from tests.support.house import house, working

SESSION = "/api/v1/sessions/talk"


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
async def client(database_url: str, model: FakeModel) -> AsyncIterator[httpx.AsyncClient]:
    async with house(database_url, model) as services, working(services), calling(services) as connected:
        yield connected


async def commit(client: httpx.AsyncClient, *texts: str) -> dict:
    messages = [{"role": "user", "content": text} for text in texts]
    result(await client.post(f"{SESSION}/messages/batch", json={"messages": messages}))
    accepted = result(await client.post(f"{SESSION}/commit", json={"wait": True, "timeout": 30}))
    return accepted["cairn"]["task"]


async def read(client: httpx.AsyncClient, path: str, **query: int) -> dict:
    return result(await client.get(f"{SESSION}/{path}", params=query))


async def test_a_document_that_an_update_failed_to_reach_is_stale(client, model):
    assert (await commit(client, "one"))["cairn"]["working_memory"] == "current"
    before = await read(client, "working-memory")
    model.turns.append(ModelRefused("No."))
    task = await commit(client, "two", "three")
    assert (task["status"], task["cairn"]["outcome"], task["cairn"]["working_memory"]) == ("failed", "failed", "stale")
    context, memory = await read(client, "context"), await read(client, "working-memory")
    for view in (context, memory):
        assert (view["cairn"]["working_memory"], view["cairn"]["placeholder"]) == ("stale", False)
    assert context["latest_archive_overview"] == memory["overview"] == before["overview"]
    assert [message["parts"][0]["text"] for message in context["messages"]] == ["two", "three"]
    archives = await read(client, "archives")
    assert [archive["working_memory"] for archive in archives] == ["current", "stale"]
    assert (await commit(client, "four"))["status"] == "completed"
    for path in ("context", "working-memory"):
        assert (await read(client, path))["cairn"]["working_memory"] == "current"


async def test_a_placeholder_stands_for_a_document_nobody_wrote(client, model):
    model.turns.append(ModelRefused("No."))
    await commit(client, "one", "two")
    context, memory = await read(client, "context"), await read(client, "working-memory")
    assert context["latest_archive_overview"] == memory["overview"]
    assert "no model answered about 2 archived messages" in memory["overview"]
    assert (memory["sections"], memory["archive_id"]) == ([], None)
    for view in (context, memory):
        assert (view["cairn"]["working_memory"], view["cairn"]["placeholder"]) == ("stale", True)
        assert view["cairn"]["provider"] is None
    stats = context["stats"]
    assert (stats["totalArchives"], stats["includedArchives"], stats["failedArchives"]) == (1, 0, 1)
    assert context["estimatedTokens"] == stats["activeTokens"] + stats["archiveTokens"]
    assert stats["archiveTokens"] > 0


@pytest.mark.parametrize("budget", [0, 5, 20, 40, 100])
async def test_a_placeholder_keeps_to_the_budget(client, model, budget):
    model.turns.append(ModelRefused("No."))
    await commit(client, "one", "two")
    context = await read(client, "context", token_budget=budget)
    assert context["estimatedTokens"] <= budget
    assert context["cairn"]["placeholder"] is bool(context["latest_archive_overview"])


async def test_a_task_names_the_messages_that_were_seen_in_part(database_url, model):
    small = {"model_name": "fake-1", "model_context_tokens": 3_000}
    async with house(database_url, model, **small) as services, working(services), calling(services) as client:
        task = await commit(client, "short", "a long word " * 1_000)
    assert (task["status"], task["cairn"]["outcome"]) == ("completed", "partial")
    assert task["result"]["cairn"] == {"outcome": "partial", "provider": "fake", "shortened_messages": [2]}
