"""Tasks over HTTP: what became of an archive, in every state, and its second chances."""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest

from app.bootstrap import Services
from tests.support.api import refusal, result
from tests.support.fake_model import REFUSED, UNAVAILABLE, FakeModel
from tests.support.house import house, working

TALK = "/api/v1/sessions/talk"
TASKS = "/api/v1/tasks"
STEP = {
    "step", "state", "outcome", "attempts", "max_attempts", "next_attempt_at", "error_class", "error", "pieces_done",
    "started_at", "finished_at",
}  # fmt: skip


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
async def services(database_url: str, model: FakeModel) -> AsyncIterator[Services]:
    async with house(database_url, model, pool_size=4) as built:
        yield built


async def committed(client, text="hello", **body):
    result(await client.post(f"{TALK}/messages", json={"role": "user", "content": text}))
    return result(await client.post(f"{TALK}/commit", json=body))


async def failed(client, services, model, text="hello"):
    """Return the path of a task that the model refused."""
    model.turns.append(REFUSED)
    async with working(services):
        return f"{TASKS}/{(await committed(client, text, wait=True, timeout=30))['task_id']}"


def states(view):
    return {step["step"]: (step["state"], step["outcome"]) for step in view["steps"]}


async def test_a_failed_archive_is_listed_with_its_reason_and_attempts(client, services, model):
    path = await failed(client, services, model)
    task = result(await client.get(path))
    (archive,) = result(await client.get(f"{TALK}/archives"))
    full = result(await client.get(f"{TALK}/archives/archive_001"))
    assert (task["status"], archive["status"], archive["outcome"]) == ("failed", "failed", "failed")
    assert task["cairn"]["steps"] == archive["steps"] == full["cairn"]["steps"]
    step = archive["steps"][0]
    assert set(step) == STEP
    assert (step["attempts"], step["max_attempts"], step["error_class"]) == (1, 5, "MODEL_REFUSED")
    assert step["error"] == "The fake model refuses."
    assert states(archive) == {
        "working_memory": ("failed", "failed"), "long_term_memory": ("off", "off"), "embedding": ("skipped", "skipped"),
    }  # fmt: skip


async def test_a_pause_between_attempts_says_when_it_ends(client, services, model):
    model.turns.append(UNAVAILABLE)
    task_id = (await committed(client))["task_id"]
    (claimed,) = await services.jobs.claim("here", ["working_memory"], limit=1)
    await services.jobs.give_up(claimed, UNAVAILABLE)
    step = result(await client.get(f"{TASKS}/{task_id}"))["cairn"]["steps"][0]
    assert (step["state"], step["outcome"], step["error_class"]) == ("ready", None, "MODEL_UNAVAILABLE")
    assert datetime.fromisoformat(step["next_attempt_at"]) > datetime.fromisoformat(step["started_at"])


async def test_a_retry_answers_the_task_and_a_second_one_is_refused(client, services, model):
    path = await failed(client, services, model)
    assert result(await client.post(f"{path}/retry"))["status"] == "pending"
    assert refusal(await client.post(f"{path}/retry"))[:2] == (412, "FAILED_PRECONDITION")
    async with working(services):
        await services.tasks.wait(await scope_of(services), path.rpartition("/")[2], 30)
    assert refusal(await client.post(f"{path}/retry"))[:2] == (412, "FAILED_PRECONDITION")
    done = result(await client.get(path))
    assert (done["status"], done["result"]["cairn"]["outcome"]) == ("completed", "applied")
    assert done["cairn"]["steps"][0]["attempts"] == 2


async def scope_of(services):
    scope = await services.identity.by_names("default", "default", create=True)
    assert scope
    return scope


async def test_what_models_cost_for_it_stands_in_the_result(client, services):
    async with working(services):
        await committed(client, wait=True, timeout=30)
        await committed(client, "another", wait=True, timeout=30)
    newest = result(await client.get(TASKS))[0]
    assert newest["result"]["token_usage"] == {
        "llm": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        "embedding": {"total_tokens": 0},
        "total": {"total_tokens": 120},
    }


async def test_a_discarded_archive_leaves_the_context_and_keeps_its_messages(client, services, model):
    path = await failed(client, services, model, "a secret")
    assert len(result(await client.get(f"{TALK}/context"))["messages"]) == 1
    discarded = result(await client.post(f"{path}/discard"))
    assert (discarded["status"], discarded["cairn"]["outcome"]) == ("cancelled", "discarded")
    assert states(discarded["cairn"])["working_memory"] == ("failed", "discarded")
    assert result(await client.get(f"{TALK}/context"))["messages"] == []
    archive = result(await client.get(f"{TALK}/archives/archive_001"))
    assert (archive["cairn"]["status"], len(archive["messages"])) == ("discarded", 1)
    assert refusal(await client.post(f"{path}/discard"))[:2] == (412, "FAILED_PRECONDITION")


async def test_a_wait_ends_with_the_timeout_and_shows_the_state(client):
    waited = await committed(client, wait=True, timeout=0.05)
    assert waited["cairn"]["task"]["task_id"] == waited["task_id"]
    assert waited["cairn"]["task"]["status"] == "pending"


@pytest.mark.parametrize("status", ["pending", None])
async def test_tasks_come_page_by_page(client, status):
    made = [(await committed(client, f"{n}"))["task_id"] for n in range(5)]
    wanted = {"limit": 2} | ({"status": status} if status else {})
    seen, cursor = [], {}
    for _ in range(3):
        page = (await client.get(TASKS, params={**wanted, **cursor})).json()
        seen += [task["task_id"] for task in page["result"]]
        cursor = {"cursor": page["next_cursor"]}
    assert seen == made[::-1]
    assert (page["has_more"], page["next_cursor"]) == (False, None)
    assert (await client.get(TASKS, params={"limit": 5})).json()["has_more"] is False
    assert (await client.get(TASKS, params={"task_type": "reindex"})).json()["has_more"] is False


@pytest.mark.parametrize("cursor", ["", "x", "00000000-0000-0000-0000-000000000000"])
async def test_a_cursor_that_is_none_is_refused(client, cursor):
    assert refusal(await client.get(TASKS, params={"cursor": cursor}))[:2] == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("what", ["retry", "discard"])
async def test_an_unknown_task_has_no_second_chance(client, what):
    assert refusal(await client.post(f"{TASKS}/00000000-0000-0000-0000-000000000000/{what}"))[:2] == (404, "NOT_FOUND")
    assert refusal(await client.post(f"{TASKS}/x/{what}"))[:2] == (404, "NOT_FOUND")


async def test_a_failed_archive_that_was_imported_can_be_retried(client, services, model):
    await failed(client, services, model)
    lines = await client.get(f"{TALK}/export")
    result(await client.post("/api/v1/sessions/copy/import", content=lines.content))
    (archive,) = result(await client.get("/api/v1/sessions/copy/archives"))
    async with working(services):
        result(await client.post(f"{TASKS}/{archive['task_id']}/retry"))
        task = await services.tasks.wait(await scope_of(services), archive["task_id"], 30)
    assert (task.status, task.steps[0].attempts) == ("completed", 1)
