"""The window: what is pending, what a commit archives and never tears apart, whatever happens in which order."""

import secrets
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.bootstrap import Services
from app.domain.archives import Sealed, Skipped, SkipReason
from app.domain.messages import MessageRole, NewMessage
from app.domain.scope import Scope
from app.storage import sessions
from tests.support.conversations import answered, calls, results, said
from tests.support.handed_data import load_test_data, skipped_without_data
from tests.support.sealing import append, seal, seal_idle
from tests.support.window_model import WindowModel

TOOL_IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.one_of(
    st.just(said()),
    st.just(answered()),
    TOOL_IDS.map(calls),
    TOOL_IDS.map(results),
    st.tuples(TOOL_IDS, TOOL_IDS).map(lambda ids: calls(*ids)),
    st.tuples(TOOL_IDS, TOOL_IDS).map(
        lambda ids: NewMessage(MessageRole.ASSISTANT, (*results(ids[0]).parts, *calls(ids[1]).parts))
    ),
)
BATCHES = st.lists(st.tuples(MESSAGES, st.integers(0, 9)), min_size=1, max_size=4)
COMMITS = st.integers(0, 5)
IDLE = "idle"
STEPS = st.lists(st.one_of(BATCHES, BATCHES, COMMITS, st.just(IDLE)), min_size=1, max_size=14)


async def play(services: Services, scope: Scope, session: str, steps: list) -> None:
    """Do the same to the database and to the model, and compare them after every step."""
    model = WindowModel()
    for step in steps:
        if not model.tokens and not isinstance(step, list):
            continue
        if step == IDLE:
            outcome = await seal_idle(services.database, scope, session)
            assert isinstance(outcome, Sealed) == (model.commit_idle() is not None)
        elif isinstance(step, int):
            outcome = await seal(services.database, scope, session, step)
            assert isinstance(outcome, Sealed) == (model.commit(step) is not None)
        else:
            messages, tokens = [message for message, _ in step], [count for _, count in step]
            reply = await append(services.database, scope, session, tokens, messages)
            model.append(messages, tokens)
            assert (reply.live_count, reply.pending_tokens) == (model.live_count, model.pending_tokens)
        await compare(services, scope, session, model)


async def compare(services: Services, scope: Scope, session: str, model: WindowModel) -> None:
    async with services.database.transaction(scope) as tx:
        stored = await sessions.get(tx, scope, session)
    if stored is None:
        assert not model.tokens
        return
    assert (stored.last_seq, stored.last_tokens) == (model.last_seq, sum(model.tokens))
    assert (stored.sealed_seq, stored.sealed_tokens) == (model.sealed_seq, sum(model.tokens[: model.sealed_seq]))
    assert (stored.live_count, stored.pending_tokens) == (model.live_count, model.pending_tokens)
    assert (stored.keep_recent_count, stored.archive_count) == (model.keep, len(model.ends))
    archives = await services.archives.list_all(scope, session)
    assert [archive.last_seq for archive in archives] == model.ends
    assert [archive.first_seq for archive in archives] == [1, *(end + 1 for end in model.ends)][: len(archives)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_database_and_model_agree_after_every_step(services: Services, scope: Scope, steps: list) -> None:
    await play(services, scope, secrets.token_hex(8), steps)


@pytest.mark.cases
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(BATCHES, BATCHES, COMMITS), min_size=5, max_size=40))
@pytest.mark.timeout(900)
async def test_database_and_model_agree_in_long_histories(services: Services, scope: Scope, steps: list) -> None:
    await play(services, scope, secrets.token_hex(8), steps)


PAIRS = {
    "a call whose result is outside the window": ([said(), calls("a"), results("a"), answered()], 1, 3),
    "a result inside the window pulls its call in": ([said(), calls("a"), results("a"), answered()], 2, 1),
    "a call far before its result": ([said(), calls("a"), *[answered()] * 5, results("a"), answered()], 2, 1),
    "one pair pulls in another that it stands in": (
        [said(), calls("a"), calls("b"), results("a"), answered(), results("b"), answered()], 2, 1,
    ),
    "a call that still waits": ([said(), answered(), calls("a")], 0, 2),
    "a call that nobody waits for once a person spoke": ([said(), calls("a"), said("never mind")], 0, 3),
    "an id that was used before": (
        [said(), calls("a"), results("a"), said(), calls("a"), results("a"), answered()], 2, 4,
    ),
    "a result without a call": ([said(), results("a"), answered()], 1, 2),
    "calls answered out of order": (
        [said(), calls("a", "b"), results("b"), results("a"), answered()], 2, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "keep", "end"), PAIRS.values(), ids=PAIRS)
async def test_a_cut_never_falls_between_a_call_and_its_result(
    services: Services, scope: Scope, messages: list[NewMessage], keep: int, end: int
) -> None:
    await append(services.database, scope, "talk", [10] * len(messages), messages)
    assert isinstance(await seal(services.database, scope, "talk", keep), Sealed)
    (archive,) = await services.archives.list_all(scope, "talk")
    session = (await services.sessions.describe(scope, "talk")).session
    assert (archive.first_seq, archive.last_seq, archive.tokens) == (1, end, 10 * end)
    assert session.pending_tokens == 10 * max(0, len(messages) - keep - end)


async def test_a_conversation_that_is_one_open_call_is_not_cut(services: Services, scope: Scope) -> None:
    await append(services.database, scope, "talk", [10, 10], [calls("a"), answered()])
    assert await seal(services.database, scope, "talk") == Skipped(SkipReason.ALL_WITHIN_KEEP_WINDOW)
    assert (await services.sessions.describe(scope, "talk")).session.pending_tokens == 20


def fitting_vectors() -> list[Mapping[str, Any]]:
    """Return the handed event sequences that need nothing but adds and commits with a window."""
    handed = load_test_data("vectors", "working_memory.json")
    if handed is None:
        return []
    known = {"add", "add_batch", "commit", "reload"}
    return [
        vector
        for vector in handed["vectors"]
        if vector["group"] == "pending_tokens"
        and all(set(event) <= known for event in vector["input"]["events"])
        and all(
            set(event["commit"]) <= {"keep_recent_count"} and event["commit"].get("keep_recent_count", 0) >= 0
            for event in vector["input"]["events"]
            if "commit" in event
        )
    ]


@pytest.mark.parametrize(
    "vector",
    fitting_vectors() or [skipped_without_data()],
    ids=lambda vector: vector["id"],
)
async def test_pending_tokens_follow_the_handed_histories(
    services: Services, scope: Scope, vector: Mapping[str, Any]
) -> None:
    await append(services.database, scope, "talk", [], [])
    for event, after in zip(vector["input"]["events"], vector["expected"]["after"], strict=True):
        said_so: dict[str, Any] = {}
        if "commit" in event:
            outcome = await seal(services.database, scope, "talk", event["commit"].get("keep_recent_count", 0))
            said_so = await described(services, scope, outcome)
        elif "reload" not in event:
            await append(services.database, scope, "talk", event.get("add_batch") or [event["add"]])
        session = (await services.sessions.describe(scope, "talk")).session
        assert after == said_so | {
            "pending_tokens": session.pending_tokens,
            "live_messages": session.live_count,
            "keep_recent_count": session.keep_recent_count,
            "total_message_count": session.last_seq,
            "commit_count": session.archive_count,
        }


async def described(services: Services, scope: Scope, outcome: Sealed | Skipped) -> dict[str, Any]:
    if isinstance(outcome, Skipped):
        return {"status": "skipped", "archived": False, "reason": outcome.reason.value}
    archive = (await services.archives.list_all(scope, "talk"))[-1]
    archived = {"archive_id": archive.archive_id, "archived_messages": archive.message_count}
    return {"status": "accepted", "archived": True, **archived}
