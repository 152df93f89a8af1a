"""A task is followed as server-sent events, by as many as like, on one connection to the database."""

import asyncio
from collections.abc import AsyncIterator
from itertools import groupby

import psycopg
import pytest

from app.bootstrap import Services
from app.services import tasks
from tests.support.api import refusal, result
from tests.support.fake_model import FakeModel, Gate
from tests.support.house import house, somebody, working
from tests.support.over_socket import OverSocket, events, over_socket
from tests.support.waiting import eventually

TALK = "/api/v1/sessions/talk"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def services(database_url: str, gate: Gate) -> AsyncIterator[Services]:
    async with house(database_url, FakeModel(gate), pool_size=4) as built:
        yield built


@pytest.fixture
async def served(services: Services) -> AsyncIterator[OverSocket]:
    async with over_socket(services) as served:
        yield served


@pytest.fixture(autouse=True)
def nobody_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is seen in time was woken for."""
    monkeypatch.setattr(tasks, "POLL_SECONDS", 3600.0)


async def committed(served: OverSocket) -> str:
    result(await served.client.post(f"{TALK}/messages", json={"role": "user", "content": "hello"}))
    return f"/api/v1/tasks/{result(await served.client.post(f'{TALK}/commit'))['task_id']}"


async def test_a_stream_shows_the_state_then_every_change_and_ends_with_the_task(served, services, gate):
    task = await committed(served)
    async with served.client.stream("GET", f"{task}/events") as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-store"
        stream = events(reply)
        seen = [event async for event in _until_state(stream, "pending")]
        async with working(services):
            seen += [event async for event in _until_state(stream, "running")]
            gate.opened.set()
            seen += [event async for event in stream]
    assert [status for status, _ in groupby(event.data["status"] for event in seen)] == [
        "pending", "running", "completed",
    ]  # fmt: skip
    assert {event.name for event in seen} == {"task"}
    assert len({event.id for event in seen}) == len(seen)
    assert seen[-1].data == result(await served.client.get(task))


async def _until_state(stream, status):
    """Yield events until one shows this state of the task; its steps may have changed before."""
    async for event in stream:
        if event.name:
            yield event
            if event.data["status"] == status:
                return


async def test_a_client_that_comes_back_is_not_told_again_what_it_knows(served, services, gate):
    task = await committed(served)
    async with served.client.stream("GET", f"{task}/events") as reply:
        first = [event async for event in _until_state(events(reply), "pending")][-1]
    async with served.client.stream("GET", f"{task}/events", headers={"Last-Event-ID": first.id}) as reply:
        gate.opened.set()
        async with working(services):
            seen = [event async for event in events(reply) if event.name]
    assert seen[-1].data["status"] == "completed"
    assert first.id not in {event.id for event in seen}
    last = await served.client.get(f"{task}/events", headers={"Last-Event-ID": seen[-1].id})
    assert (last.status_code, last.content) == (204, b"")
    late = await served.client.get(f"{task}/events", headers={"Last-Event-ID": first.id})
    assert late.text.count("event: task") == 1


async def test_many_followers_share_one_connection_and_leave_nothing_behind(served, services, gate, superuser_url):
    task = await committed(served)
    listeners = ("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                 " AND application_name = 'cairn-listen'")  # fmt: skip

    async def follow(leaves_early: bool) -> list[str]:
        async with served.client.stream("GET", f"{task}/events") as reply:
            seen = []
            async for event in events(reply):
                if event.name:
                    seen.append(event.data["status"])
                if seen and leaves_early:
                    break
            return seen

    followers = [asyncio.create_task(follow(n % 2 == 0)) for n in range(24)]

    async def half_left() -> bool:
        return sum(follower.done() for follower in followers) == 12

    await eventually(half_left, "half of the followers having left")
    with psycopg.connect(superuser_url) as connection:
        assert connection.execute(listeners).fetchone() == (1,)
    assert (await served.client.get("/ready")).status_code == 200
    gate.opened.set()
    async with working(services):
        ends = await asyncio.gather(*followers)
    assert [end[-1] for end in ends] == ["pending", "completed"] * 12
    assert services.tasks.waiting == 0


async def test_a_stream_outlives_a_database_that_went_away(served, services, gate, superuser_url, monkeypatch):
    monkeypatch.setattr(tasks, "POLL_SECONDS", 0.1)
    task = await committed(served)
    gate.opened.set()
    async with served.client.stream("GET", f"{task}/events") as reply:
        stream = events(reply)
        assert [event.data["status"] async for event in _until_state(stream, "pending")]
        with psycopg.connect(superuser_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                               " WHERE datname = current_database() AND usename = 'cairn_test_app'")  # fmt: skip
        async with working(services):
            assert [event.data["status"] async for event in stream if event.name][-1] == "completed"


async def test_a_quiet_stream_gives_signs_of_life(served, monkeypatch):
    monkeypatch.setattr(tasks, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(tasks, "HEARTBEAT_SECONDS", 0.05)
    task = await committed(served)
    async with served.client.stream("GET", f"{task}/events") as reply:
        lines = reply.aiter_lines()
        assert [line async for line in _until(lines, ": still here")]


async def _until(lines, wanted):
    async for line in lines:
        if line == wanted:
            yield line
            return


async def test_a_stream_ends_when_its_session_is_deleted(served, monkeypatch):
    monkeypatch.setattr(tasks, "POLL_SECONDS", 0.05)
    task = await committed(served)
    async with served.client.stream("GET", f"{task}/events") as reply:
        stream = events(reply)
        assert [event async for event in _until_state(stream, "pending")]
        result(await served.client.delete(TALK))
        assert [event async for event in stream if event.name] == []


async def test_open_streams_and_waits_do_not_hold_up_the_end_of_the_process(served):
    task = await committed(served)
    body = {"role": "user", "content": "more"}
    result(await served.client.post(f"{TALK}/messages", json=body))
    waits = asyncio.create_task(served.client.post(f"{TALK}/commit", json={"wait": True, "timeout": 600}))
    async with served.client.stream("GET", f"{task}/events") as reply:
        stream = events(reply)
        assert [event async for event in _until_state(stream, "pending")]

        async def sealed() -> bool:
            return len(result(await served.client.get("/api/v1/tasks"))) == 2

        await eventually(sealed, "the commit that waits")
        served.server.should_exit = True
        async with asyncio.timeout(5):
            assert [event async for event in stream if event.name] == []
            assert result(await waits)["cairn"]["task"]["status"] == "pending"
            await served.running


async def test_only_tasks_of_ones_own_can_be_followed(served, services):
    task = await committed(served)
    await somebody(services, "default", "bob")
    for path, headers in ((task, {"X-OpenViking-User": "bob"}), ("/api/v1/tasks/no-uuid", {})):
        reply = await served.client.get(f"{path}/events", headers=headers)
        assert refusal(reply)[:2] == (404, "NOT_FOUND")
