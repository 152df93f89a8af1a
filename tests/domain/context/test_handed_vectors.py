"""The handed vectors about budgets, counted by the estimate they were made with."""

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.context.fitting import Conversation, fit_context
from app.domain.messages import MessageRole, NewMessage
from tests.support.handed_data import load_test_data, skipped_without_data
from tests.support.seed_tokens import seed_tokens
from tests.support.stored import stored, tool_pairs


def cases(group: str, keep: Callable[[dict[str, Any]], bool] = bool) -> list[Any]:
    handed = load_test_data("vectors", "working_memory.json")
    found = [
        pytest.param(case, id=case["id"])
        for case in (handed or {}).get("vectors", ())
        if case["group"] == group and case["status"] == "conform" and keep(case)
    ]
    return found or [skipped_without_data()]


def message(given: dict[str, Any]) -> NewMessage:
    text = "x" * (4 * given["tokens"])
    part: dict[str, Any] = {"type": "text", "text": text}
    if "tool" in given:
        part = {"type": "tool", "tool_id": given["tool"], "tool_name": "t", "tool_output": text,
                "tool_status": "completed"}  # fmt: skip
    attributes = {"message_kind": given["kind"]} if "kind" in given else {}
    return NewMessage(MessageRole(given["role"]), (part,), attributes=attributes)


def fitted(given: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], Any]:
    messages = [message(one) for one in given]
    conversation = Conversation(stored(messages, seed_tokens), len(messages), tool_pairs(messages))
    context = fit_context(None, conversation, budget=budget, count_tokens=seed_tokens)
    return [{"id": given[m.seq - 1]["id"], "tokens": m.tokens} for m in context.messages], context


@pytest.mark.parametrize("case", cases("budget_fit"))
def test_messages_fit_a_budget_as_users_know_it(case: dict[str, Any]) -> None:
    expected = case["expected"]
    given = case["input"]["messages"]
    shown, context = fitted(given, case["input"]["token_budget"])
    assert shown == expected["messages"]
    assert context.message_tokens == expected["estimated_tokens"]
    assert context.dropped_messages == len(expected["dropped"])
    cut = {one.message_id.int for one in context.shortened_messages}
    assert [one["id"] for position, one in enumerate(given, 1) if position in cut] == expected["truncated"]


def is_about_messages(case: dict[str, Any]) -> bool:
    """A failed archive keeps its messages in a context here, and so does one that came to no overview."""
    return all(one["state"] == "pending" or one.get("overview") for one in case["input"]["archives"])


@pytest.mark.parametrize("case", cases("context_assembly", is_about_messages))
def test_messages_stand_beside_an_overview_as_users_know_it(case: dict[str, Any]) -> None:
    """Overviews have all seven sections here; what is compared is the messages in the room that is left to them."""
    waiting = [m for archive in case["input"]["archives"] if archive["state"] == "pending"
               for m in archive.get("messages", ())]  # fmt: skip
    known = {one["id"] for one in waiting}
    uncovered = waiting + [one for one in case["input"]["live"] if one["id"] not in known]
    stats = case["expected"]["stats"]
    shown, context = fitted(uncovered, case["input"]["token_budget"] - stats["archiveTokens"])
    assert shown == case["expected"]["messages"]
    assert context.message_tokens == stats["activeTokens"]
