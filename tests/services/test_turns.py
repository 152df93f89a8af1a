"""Keeping whole turns: the cut, what is pending after every append, and the question that stays visible."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.bootstrap import Services
from app.domain.archives import Sealed
from app.domain.commits import CommitOptions
from app.domain.messages import MessageRole, NewMessage
from app.domain.retention import Retention, TurnRetention, retention_of
from app.domain.scope import Scope
from app.storage import sessions
from tests.support.conversations import answered, calls, results, said
from tests.support.handed_data import load_test_data, skipped_without_data
from tests.support.sealing import append, seal, seal_idle
from tests.support.turn_model import TurnModel

MESSAGES = st.sampled_from(
    [
        *[said(), answered(), answered(), answered()] * 3,
        calls("a"), results("a"), calls("b"), results("b"), said(by=MessageRole.TOOL), said(by=MessageRole.SYSTEM),
    ]
)  # fmt: skip
BATCHES = st.lists(st.tuples(MESSAGES, st.integers(0, 9)), min_size=3, max_size=8)
SMALL = st.lists(st.tuples(MESSAGES, st.integers(0, 9)), min_size=1, max_size=2)
TURNS = st.builds(TurnRetention, st.sampled_from([1, 2, 3, 0]), st.integers(8, 30), st.sampled_from([1, 0, 2, 3]))
IDLE = "idle"
COMMITS = st.one_of(*[TURNS] * 6, st.integers(0, 3), st.just(IDLE))
"""Large turns are rare among messages at random: sizes and weights are such that every second history has one."""


def histories(most: int) -> st.SearchStrategy[list]:
    return st.lists(st.one_of(BATCHES, SMALL, TURNS, COMMITS), min_size=6, max_size=most)


async def commit_by_turns(services: Services, scope: Scope, session: str, turns: TurnRetention) -> Any:
    return await services.commits.seal(scope, session, CommitOptions(Retention(0, turns)))


async def play(services: Services, scope: Scope, session: str, steps: list) -> None:
    """Do the same to the database and to the model, and compare them after every step."""
    model = TurnModel()
    for step in steps:
        if isinstance(step, list):
            messages, tokens = [message for message, _ in step], [count for _, count in step]
            reply = await append(services.database, scope, session, tokens, messages)
            model.append(messages, tokens)
            assert (reply.live_count, reply.pending_tokens) == (model.live_count, model.pending_tokens)
        elif model.tokens and step == IDLE:
            outcome = await seal_idle(services.database, scope, session)
            assert isinstance(outcome, Sealed) == (model.commit_idle() is not None)
        elif model.tokens and isinstance(step, int):
            outcome = await seal(services.database, scope, session, step)
            assert isinstance(outcome, Sealed) == (model.commit(step) is not None)
        elif model.tokens:
            outcome = await commit_by_turns(services, scope, session, step)
            assert isinstance(outcome, Sealed) == (model.commit_by_turns(step) is not None)
            assert outcome.kept.active_tokens == model.active_tokens
            assert outcome.kept.budget_exceeded == (model.active_tokens > step.token_budget)
        await compare(services, scope, session, model)


async def compare(services: Services, scope: Scope, session: str, model: TurnModel) -> None:
    async with services.database.transaction(scope) as tx:
        stored = await sessions.get(tx, scope, session)
    if stored is None:
        assert not model.tokens
        return
    assert (stored.sealed_seq, stored.anchor_seq) == (model.sealed_seq, model.anchor)
    assert (stored.live_count, stored.pending_tokens) == (model.live_count, model.pending_tokens)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=histories(14))
async def test_database_and_model_agree_on_turns_after_every_step(
    services: Services, scope: Scope, superuser: psycopg.Connection, steps: list
) -> None:
    await play(services, scope, secrets.token_hex(8), steps)
    assert superuser.execute("SELECT fault FROM cairn.check_sessions").fetchall() == []


@pytest.mark.cases
@pytest.mark.timeout(900)
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=histories(40))
async def test_database_and_model_agree_on_turns_in_long_histories(
    services: Services, scope: Scope, steps: list
) -> None:
    await play(services, scope, secrets.token_hex(8), steps)


U, A, C, R = said(), answered(), calls("t"), results("t")
PLANS: dict[str, tuple[Sequence[tuple[NewMessage, int]], TurnRetention, int, int | None, int, bool]] = {
    # messages with their tokens, what to keep -> archived up to, visible question, active tokens, budget exceeded
    "no turn": ([(U, 10), (A, 10)], TurnRetention(0, 100), 2, None, 0, False),
    "the newest turn": ([(U, 10), (A, 10), (U, 5), (A, 5)], TurnRetention(1, 100), 2, None, 10, False),
    "more turns than there are": ([(U, 10), (A, 10)], TurnRetention(3, 100), 0, None, 20, False),
    "as many turns as fit": ([(U, 40), (U, 40), (U, 40)], TurnRetention(3, 100), 1, None, 80, False),
    "a sum equal to the budget": ([(U, 50), (U, 50)], TurnRetention(2, 100), 0, None, 100, False),
    "a newest turn that is too large": (
        [(U, 10), (A, 60), (A, 40), (A, 30)], TurnRetention(1, 100), 3, 1, 40, False,
    ),
    "its newest step though it is too large": (
        [(U, 10), (A, 60), (A, 200)], TurnRetention(1, 100), 2, 1, 210, True,
    ),
    "more steps where they are asked for": (
        [(U, 10), (A, 60), (A, 40), (A, 30)], TurnRetention(1, 100, 2), 2, 1, 80, False,
    ),
    "a step with the results of its calls": (
        [(U, 10), (A, 90), (C, 10), (R, 40)], TurnRetention(1, 100), 2, 1, 60, False,
    ),
    "a question that is too large alone": ([(U, 20), (U, 500)], TurnRetention(2, 100), 1, None, 500, True),
    "a single step, however large": ([(U, 10), (A, 500)], TurnRetention(1, 100), 0, None, 510, True),
    "a large stretch that nobody asked for": ([(A, 60), (A, 60)], TurnRetention(1, 100), 2, None, 0, False),
    "a small stretch that nobody asked for": ([(A, 10), (A, 10)], TurnRetention(1, 100), 0, None, 20, False),
    "the reserve for what was left out": (
        [(U, 10), (A, 50), (A, 35), (A, 30)], TurnRetention(1, 100), 2, 1, 75, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said_so", "turns", "end", "question", "active", "exceeded"), PLANS.values(), ids=PLANS)
async def test_whole_turns_stay_within_their_budget(
    services: Services,
    scope: Scope,
    said_so: Sequence[tuple[NewMessage, int]],
    turns: TurnRetention,
    end: int,
    question: int | None,
    active: int,
    exceeded: bool,
) -> None:
    messages, tokens = [message for message, _ in said_so], [count for _, count in said_so]
    await append(services.database, scope, "talk", tokens, messages)
    outcome = await commit_by_turns(services, scope, "talk", turns)
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.sealed_seq, session.anchor_seq) == (end, question)
    assert (outcome.kept.active_tokens, outcome.kept.budget_exceeded) == (active, exceeded)
    assert session.pending_tokens == 0


async def test_the_question_of_a_turn_that_goes_on_is_shown_once_and_first(services: Services, scope: Scope) -> None:
    messages = [said("first"), answered("x"), said("the question"), answered("step 1"), answered("step 2")]
    await append(services.database, scope, "talk", [10, 10, 10, 90, 10], messages)
    await commit_by_turns(services, scope, "talk", TurnRetention(1, 100))
    await hide_archive(services, scope)
    assert await shown(services, scope) == ["the question", "step 2"]
    await append(services.database, scope, "talk", [10, 80], [answered("step 3"), answered("step 4")])
    await commit_by_turns(services, scope, "talk", TurnRetention(1, 100))
    assert (await services.sessions.describe(scope, "talk")).session.anchor_seq == 3
    await append(services.database, scope, "talk", [10], [said("the next question")])
    assert (await shown(services, scope))[-2:] == ["step 4", "the next question"]
    await commit_by_turns(services, scope, "talk", TurnRetention(1, 100))
    assert (await services.sessions.describe(scope, "talk")).session.anchor_seq is None


async def hide_archive(services: Services, scope: Scope) -> None:
    """Leave the first archive out of the context, as a document that covers it would."""
    async with services.database.transaction(scope) as tx:
        await tx.exec_driver_sql(
            "UPDATE cairn.archives SET working_memory = 'discarded' WHERE account_id = %s", (scope.account_id,)
        )


async def shown(services: Services, scope: Scope) -> list[object]:
    context = await services.context.assemble(scope, "talk", 100_000)
    return [message.parts[0]["text"] for message in context.fitted.messages]


async def test_a_recount_finds_a_wrong_sum_and_a_wrong_question(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await append(services.database, scope, "talk", [10, 90, 10], [said(), answered(), answered()])
    await commit_by_turns(services, scope, "talk", TurnRetention(1, 100))

    def faults() -> list[str]:
        return sorted(row.fault for row in superuser.execute("SELECT fault FROM cairn.check_sessions"))

    assert faults() == []
    superuser.execute("UPDATE cairn.sessions SET pending_tokens = 1")
    assert faults() == ["counters differ from a recount"]
    superuser.execute("UPDATE cairn.sessions SET pending_tokens = 0, anchor_seq = 2")
    assert faults() == ["the live messages do not go on with the turn of message 2"]


async def test_what_is_kept_is_remembered_by_the_next_process(services: Services, scope: Scope) -> None:
    await append(services.database, scope, "talk", [1])
    turns = retention_of(mode="turn_budget", keep_recent_turn_count=2, min_raw_tail_steps=4).turns
    await commit_by_turns(services, scope, "talk", turns)
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.retention_mode, session.keep_recent_turn_count) == ("turn_budget", 2)
    assert (session.retained_message_token_budget, session.min_raw_tail_steps) == (12_000, 4)
    await seal(services.database, scope, "talk", 5)
    session = (await services.sessions.describe(scope, "talk")).session
    assert (session.retention_mode, session.keep_recent_count) == ("message_count", 5)


def turn_vectors() -> list[Mapping[str, Any]]:
    """Return the handed event sequences that keep turns."""
    handed = load_test_data("vectors", "working_memory.json")
    return [
        vector
        for vector in (handed["vectors"] if handed else [])
        if vector["group"] == "pending_tokens"
        and any("retention_mode" in event.get("commit", {}) for event in vector["input"]["events"])
    ]


@pytest.mark.parametrize("vector", turn_vectors() or [skipped_without_data()], ids=lambda vector: vector["id"])
async def test_pending_tokens_of_turns_follow_the_handed_histories(
    services: Services, scope: Scope, vector: Mapping[str, Any]
) -> None:
    for event, after in zip(vector["input"]["events"], vector["expected"]["after"], strict=True):
        if "commit" in event:
            asked = dict(event["commit"])
            retention = retention_of(mode=asked.pop("retention_mode", None), **asked)
            await services.commits.seal(scope, "talk", CommitOptions(retention))
        else:
            await append(services.database, scope, "talk", [event["add"]])
        session = (await services.sessions.describe(scope, "talk")).session
        counters = {
            "pending_tokens": session.pending_tokens,
            "live_messages": session.live_count,
            "keep_recent_count": session.keep_recent_count,
            "total_message_count": session.last_seq,
            "commit_count": session.archive_count,
        }
        assert counters == {name: after[name] for name in counters}
