"""Contexts of a whole server, looked at from outside: while the model thinks, when it fails, at every budget."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest

from app.domain.messages import countable_text
from app.domain.working_memory.sections import Section
from app.providers.tokenizer import build_token_counter
from tests.support.model_behaviours import hang, ok, status
from tests.support.model_server import ModelServer, running_model_server
from tests.support.over_http import PRIOR
from tests.support.processes import wait_for
from tests.support.served import Served, serving

pytestmark = pytest.mark.cases

THINKS_SECONDS = 1.5
LONG_FACTS = "\n".join(f"- Pier {n} is inspected by Ana Pereira on 2031-04-{n % 28 + 1:02d}" for n in range(120))


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {"CAIRN_MODEL_BASE_URL": model.base_url, "CAIRN_MODEL_NAME": "harbour-1", "CAIRN_MAX_ATTEMPTS": "1"}
    with serving(tmp_path_factory.mktemp("home"), **settings) as served:
        yield served


@pytest.fixture(scope="module")
def count_tokens() -> Callable[[str], int]:
    return build_token_counter("o200k_base")


@pytest.fixture
def session(server: Served, model: ModelServer, request: pytest.FixtureRequest) -> str:
    """The path of a session that nobody used before, with a model that behaves."""
    model.reset()
    return f"/api/v1/sessions/{request.node.name}"


def say(server: Served, session: str, *texts: str, role: str = "user") -> None:
    messages = [{"role": role, "content": text} for text in texts]
    server.post(f"{session}/messages/batch", {"messages": messages})


def commit(server: Served, session: str, **options: Any) -> str:
    return server.post(f"{session}/commit", options)["task_id"]


def ended(server: Served, task_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        task = server.get(f"/api/v1/tasks/{task_id}")
        return task if task["status"] in {"completed", "failed", "cancelled"} else None

    return wait_for(look, f"the end of task {task_id}")


def context(server: Served, session: str, budget: int = 128_000) -> dict[str, Any]:
    return server.get(f"{session}/context?token_budget={budget}")


def texts(view: dict[str, Any]) -> list[str]:
    return [part["text"] for message in view["messages"] for part in message["parts"]]


def test_what_is_archived_is_shown_raw_or_remembered_at_every_moment(
    server: Served, model: ModelServer, session: str
) -> None:
    model.script(hang(THINKS_SECONDS))
    archived, live = [f"a{n}" for n in range(1, 7)], ["b1", "b2"]
    say(server, session, *archived)
    task_id = commit(server, session)
    say(server, session, *live)
    seen = set()

    def looked() -> bool:
        view = context(server, session)
        remembered = view["cairn"]["watermark"]["covered_through_seq"] == len(archived)
        assert texts(view) == (live if remembered else archived + live)
        assert bool(view["latest_archive_overview"]) is remembered
        seen.add(remembered)
        return remembered

    assert not looked()
    wait_for(looked, "a working memory")
    assert ended(server, task_id)["status"] == "completed"
    assert seen == {False, True}


def test_every_budget_is_kept_and_stated_exactly(
    server: Served, model: ModelServer, session: str, count_tokens: Callable[[str], int]
) -> None:
    model.script(ok({**PRIOR, Section.KEY_FACTS.value: LONG_FACTS}))
    say(server, session, "Please note the inspections.")
    assert ended(server, commit(server, session))["status"] == "completed"
    say(server, session, *(f"message {n}: " + "the tide turns at noon " * 39 for n in range(60)))
    shown = []
    for budget in (0, 1, 100, 500, 2_000, 8_000, 20_000, 128_000):
        view = context(server, session, budget)
        recount = sum(count_tokens(countable_text(message["parts"])) for message in view["messages"])
        recount += count_tokens(view["latest_archive_overview"])
        assert view["estimatedTokens"] == recount <= budget
        whole = len(view["messages"]) - len(view["cairn"]["shortened_messages"])
        assert len(view["messages"]) + view["cairn"]["dropped_messages"] == 60
        shown.append((whole, len(view["messages"]), len(view["latest_archive_overview"]), view["estimatedTokens"]))
    for less, more in pairwise(shown):
        assert all(a <= b for a, b in zip(less, more, strict=True))
    assert (shown[0], shown[-1][:2]) == ((0, 0, 0, 0), (60, 60))
    reply = httpx.get(f"{server.url}{session}/context", params={"token_budget": -1})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")


def test_a_call_and_its_result_come_back_in_order_live_and_archived(server: Served, session: str) -> None:
    call = {
        "type": "tool",
        "tool_id": "t1",
        "tool_name": "weather",
        "tool_input": {"q": "rain"},
        "tool_status": "running",
    }
    answer = {"type": "tool", "tool_id": "t1", "tool_name": "weather", "tool_output": "wet", "tool_status": "completed"}
    spoken = [
        {"role": "assistant", "parts": [{"type": "text", "text": "I look it up."}, call]},
        {"role": "user", "parts": [answer]},
        {"role": "assistant", "content": "It rains."},
    ]
    server.post(f"{session}/messages/batch", {"messages": spoken})
    live = context(server, session)
    ended(server, commit(server, session))
    archived = server.get(f"{session}/archives/archive_001")
    for view in (live, archived):
        assert all(message["parts"] for message in view["messages"])
        parts = [part for message in view["messages"] for part in message["parts"]]
        assert [part.get("text") or part.get("tool_input") or part.get("tool_output") for part in parts] == [
            "I look it up.", {"q": "rain"}, "wet", "It rains.",
        ]  # fmt: skip


def test_pending_tokens_count_every_script_and_every_part_once(server: Served, session: str) -> None:
    english = ("The harbour master keeps a careful log of every ship that enters or leaves the port. " * 4)[:300]
    samples = {
        "english": {"type": "text", "text": english},
        "chinese": {"type": "text", "text": ("港务长仔细记录每一艘进出港口的船只，潮汐表每周三更新一次。" * 11)[:300]},
        "tool": {
            "type": "tool",
            "tool_id": "t",
            "tool_name": "log",
            "tool_output": english,
            "tool_status": "completed",
        },
        "emoji": {"type": "text", "text": ("🚢⚓🌊🐟🦀" * 60)[:300]},
    }
    pending = {}
    for name, part in samples.items():
        own = f"{session}-{name}"
        message = {"role": "user", "parts": [part]}
        pending[name] = server.post(f"{own}/messages", message)["pending_tokens"]
        assert server.get(own)["pending_tokens"] == pending[name]
        assert server.post(f"{own}/messages", message)["pending_tokens"] == 2 * pending[name]
        commit(server, own, keep_recent_count=1)
        assert server.get(own)["pending_tokens"] == 0
    assert pending["chinese"] >= 3 * pending["english"]
    assert pending["emoji"] >= pending["english"]
    assert 0 < pending["tool"] <= 1.2 * pending["english"]


def test_a_memory_that_fails_costs_no_message(server: Served, model: ModelServer, session: str) -> None:
    said = [f"message {n}: " + "we talk about the piers " * 5 for n in range(30)]
    say(server, session, *said)
    model.script(status(500))
    failed = commit(server, session, keep_recent_count=10)
    assert ended(server, failed)["status"] == "failed"
    assert texts(context(server, session)) == said
    small = context(server, session, 500)
    assert small["estimatedTokens"] <= 500
    assert texts(small) == said[-len(small["messages"]) :]
    assert small["cairn"]["working_memory"] == "stale"
    server.post(f"/api/v1/tasks/{failed}/retry", {})
    wait_for(lambda: server.get(f"/api/v1/tasks/{failed}")["status"] == "completed", "the second try")
    view = context(server, session)
    assert texts(view) == said[20:]
    assert view["cairn"]["watermark"]["covered_through_seq"] == 20
    assert view["latest_archive_overview"]
