from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.context import SHORTENING_ORDER, fit_context, shorten_document
from app.domain.messages import MessageRole, NewMessage, StoredMessage, tool_uses
from app.domain.working_memory.document import render_document
from app.domain.working_memory.sections import SECTIONS, Section
from tests.support.conversations import answered, calls, results, said

BODIES = {section: f"- {section} holds {'words ' * 5}".strip() for section in SECTIONS}


def words(text: str) -> int:
    return len(text.split())


def stored(messages: list[NewMessage], tokens: list[int] | None = None) -> list[StoredMessage]:
    return [
        StoredMessage(
            seq=seq, message_id=UUID(int=seq), role=MessageRole(message.role), parts=message.parts,
            tokens=tokens[seq - 1] if tokens else 10, said_at=datetime(2031, 1, 1, tzinfo=UTC),
        )
        for seq, message in enumerate(messages, 1)
    ]  # fmt: skip


def shown(messages: list[NewMessage], budget: int) -> list[int]:
    fitted = fit_context(None, stored(messages), budget=budget, count_tokens=words)
    assert fitted.dropped_messages == len(messages) - len(fitted.messages)
    return [message.seq for message in fitted.messages]


def test_the_newest_messages_that_fit_are_shown_whole() -> None:
    assert shown([said()] * 5, 50) == [1, 2, 3, 4, 5]
    assert shown([said()] * 5, 49) == [2, 3, 4, 5]
    assert shown([said()] * 5, 9) == []
    assert shown([], 100) == []


@pytest.mark.parametrize(
    ("messages", "budget", "seqs"),
    [
        ([calls("a"), results("a"), said()], 20, [3]),
        ([calls("a"), results("a"), said()], 30, [1, 2, 3]),
        ([calls("a"), calls("b"), results("a"), results("b"), said()], 40, [5]),
        ([calls("a"), answered(), calls("b"), results("a"), results("b"), said()], 50, [6]),
        ([calls("a"), results("a"), calls("a"), results("a"), said()], 40, [3, 4, 5]),
        ([calls("a"), said(), said(), said()], 30, [2, 3, 4]),
        ([results("a"), said()], 20, [1, 2]),
    ],
)
def test_a_result_is_never_shown_without_its_call(messages: list[NewMessage], budget: int, seqs: list[int]) -> None:
    assert shown(messages, budget) == seqs


def test_the_overview_is_sure_of_its_reserve() -> None:
    fitted = fit_context(BODIES, stored([said()] * 50), budget=200, count_tokens=words)
    assert 0 < fitted.overview_tokens <= 50
    assert len(fitted.messages) == 15


def test_a_document_gives_up_its_sections_in_a_stated_order() -> None:
    whole = words(render_document(BODIES))
    text, omitted = shorten_document(BODIES, whole - 1, words)
    assert omitted == (Section.FILES_AND_CONTEXT,)
    assert words(text) < whole
    assert Section.SESSION_TITLE.value in text
    assert shorten_document(BODIES, 0, words) == ("", SHORTENING_ORDER)
    assert set(SHORTENING_ORDER) == set(SECTIONS)


MESSAGES = st.lists(
    st.one_of(
        st.just(said()),
        st.just(answered()),
        st.sampled_from("abc").map(calls),
        st.sampled_from("abc").map(results),
        st.tuples(st.sampled_from("abc"), st.sampled_from("abc")).map(
            lambda ids: NewMessage(MessageRole.ASSISTANT, (*results(ids[0]).parts, *calls(ids[1]).parts))
        ),
    ),
    max_size=14,
)


def pairs(messages: list[NewMessage]) -> list[tuple[int, int]]:
    """Return (call, result) by number of message, each result with the oldest call of its id that waits."""
    waiting: dict[str, list[int]] = {}
    found = []
    for use in tool_uses(messages):
        if use.is_result and waiting.get(use.tool_id):
            found.append((waiting[use.tool_id].pop(0) + 1, use.position + 1))
        elif not use.is_result:
            waiting.setdefault(use.tool_id, []).append(use.position)
    return found


@given(messages=MESSAGES, sizes=st.lists(st.integers(0, 20), min_size=14, max_size=14), budget=st.integers(0, 300))
def test_what_is_shown_fits_is_a_tail_and_tears_no_pair(
    messages: list[NewMessage], sizes: list[int], budget: int
) -> None:
    fitted = fit_context(BODIES, stored(messages, sizes), budget=budget, count_tokens=words)
    assert fitted.overview_tokens + fitted.message_tokens <= budget
    assert fitted.overview_tokens == words(fitted.overview)
    seqs = [message.seq for message in fitted.messages]
    assert seqs == list(range(len(messages) - len(seqs) + 1, len(messages) + 1))
    assert [pair for pair in pairs(messages) if (pair[0] in seqs) != (pair[1] in seqs)] == []


@given(messages=MESSAGES, sizes=st.lists(st.integers(0, 20), min_size=14, max_size=14), budget=st.integers(0, 300))
def test_a_larger_budget_never_shows_less(messages: list[NewMessage], sizes: list[int], budget: int) -> None:
    conversation = stored(messages, sizes)
    less, more = (fit_context(BODIES, conversation, budget=b, count_tokens=words) for b in (budget, budget + 1))
    assert len(less.messages) <= len(more.messages)
    assert set(more.omitted_sections) <= set(less.omitted_sections)
