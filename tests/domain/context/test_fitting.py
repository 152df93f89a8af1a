"""Contexts keep their budget, never show less for more, and give things up in the order they state."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.context.fitting import Conversation, FittedContext, fit_context
from app.domain.messages import MessageRole, NewMessage, Part, countable_text
from app.domain.shortening import OMISSION
from app.domain.working_memory.sections import SECTIONS
from tests.support.conversations import answered, calls, results, said
from tests.support.stored import stored, tool_pairs

BODIES = {section: f"- {section} holds {'words ' * 5}".strip() for section in SECTIONS}
TEN = "x" * 40


def quarters(text: str) -> int:
    """Count a token for every four characters."""
    return -(-len(text) // 4)


def conversation_of(messages: Sequence[NewMessage]) -> Conversation:
    return Conversation(stored(messages, quarters), len(messages), tool_pairs(messages))


def fitted(messages: Sequence[NewMessage], budget: int, bodies: dict | None = None) -> FittedContext:
    return fit_context(bodies, conversation_of(messages), budget=budget, count_tokens=quarters)


def shown(messages: Sequence[NewMessage], budget: int) -> list[int]:
    return [message.seq for message in fitted(messages, budget).messages]


def call(*tool_ids: str, **given: object) -> NewMessage:
    """A call whose message counts ten tokens with one id."""
    parts = [{"type": "tool", "tool_id": i, "tool_name": "x" * 39, "tool_status": "pending", **given} for i in tool_ids]
    return NewMessage(MessageRole.ASSISTANT, tuple(parts))


def result(tool_id: str, output: str = "x" * 38) -> NewMessage:
    part = {"type": "tool", "tool_id": tool_id, "tool_name": "t", "tool_status": "completed", "tool_output": output}
    return NewMessage(MessageRole.USER, (part,))


def asked(text: str = TEN) -> NewMessage:
    return said(text)


def text_of(context: FittedContext, seq: int) -> str:
    (message,) = [message for message in context.messages if message.seq == seq]
    return countable_text(message.parts)


@pytest.mark.parametrize(
    ("messages", "budget", "seqs"),
    [
        ([asked()] * 5, 50, [1, 2, 3, 4, 5]),
        ([asked()] * 5, 49, [2, 3, 4, 5]),
        ([asked()] * 5, 0, []),
        ([], 100, []),
        ([asked(), answered(TEN), asked(), answered(TEN)], 39, [3, 4]),
        ([asked(), answered(TEN), answered(TEN), answered(TEN)], 30, [1, 3, 4]),
        ([answered(TEN), asked(), answered(TEN)], 20, [2, 3]),
        ([asked(), answered(TEN), answered(TEN), asked(), answered(TEN)], 45, [1, 3, 4, 5]),
        ([asked(), answered("x" * 400), answered(TEN), asked()], 60, [1, 3, 4]),
        ([asked("x" * 400), answered(TEN), asked()], 60, [3]),
    ],
)
def test_of_every_turn_the_question_and_the_last_step_are_shown_first(
    messages: list[NewMessage], budget: int, seqs: list[int]
) -> None:
    assert shown(messages, budget) == seqs


def test_a_checkpoint_is_shown_before_the_steps_around_it() -> None:
    note = NewMessage(
        MessageRole.ASSISTANT, ({"type": "text", "text": TEN},), attributes={"message_kind": "checkpoint"}
    )
    assert shown([asked(), note, answered(TEN), answered(TEN)], 30) == [1, 2, 4]


@pytest.mark.parametrize(
    ("messages", "budget", "seqs"),
    [
        ([asked(), call("a"), result("a"), answered(TEN)], 30, [1, 4]),
        ([asked(), call("a"), result("a"), answered(TEN)], 40, [1, 2, 3, 4]),
        ([call("a"), call("b"), result("a"), result("b"), asked()], 30, [2, 4, 5]),
        ([asked(), call("a"), asked(), result("a")], 30, [2, 3, 4]),
        ([call("a"), result("a"), call("a"), result("a"), asked()], 40, [3, 4, 5]),
        ([result("a"), asked()], 20, [1, 2]),
    ],
)
def test_a_call_and_its_result_are_shown_together(messages: list[NewMessage], budget: int, seqs: list[int]) -> None:
    assert shown(messages, budget) == seqs


def test_a_newest_turn_that_is_too_large_is_shown_in_part() -> None:
    context = fitted([asked(), asked("q" * 400), answered("a" * 400)], 60)
    assert (context.message_tokens, context.dropped_messages) == (60, 1)
    assert [one.tokens for one in context.shortened_messages] == [100, 100]
    for seq, letter in ((2, "q"), (3, "a")):
        head, tail = text_of(context, seq).split(OMISSION)
        assert set(head + tail) == {letter}
        assert len(head) > 2 * len(tail) > 0


def test_an_answer_stays_whole_beside_a_dump_of_a_tool() -> None:
    answer = NewMessage(
        MessageRole.ASSISTANT,
        (*result("a", "d" * 4000).parts, {"type": "text", "text": "It is 42."}, *result("b", "e" * 4000).parts),
    )
    context = fitted([asked(), answer], 300)
    older, text, newer = context.messages[1].parts
    assert text["text"] == "It is 42."
    assert older["tool_output"] == OMISSION
    assert len(str(newer["tool_output"])) > 800
    assert context.message_tokens <= 300


def test_inputs_of_tools_are_cut_before_texts_the_oldest_first() -> None:
    asking = NewMessage(
        MessageRole.ASSISTANT,
        (
            {"type": "text", "text": "I write both files."},
            *call("a", tool_input={"path": "a.txt", "content": "a" * 2000}).parts,
            *call("b", tool_input={"path": "b.txt", "content": "b" * 2000}).parts,
        ),
    )
    for budget, kept in ((400, False), (700, True)):
        parts = fitted([asked(), asking], budget).messages[1].parts
        assert parts[0]["text"] == "I write both files."
        assert parts[1]["tool_input"] != asking.parts[1]["tool_input"]
        assert (parts[2]["tool_input"] == asking.parts[2]["tool_input"]) == kept
        assert parts[2]["tool_input"]["path"] == "b.txt"


def test_what_is_stored_is_not_touched() -> None:
    conversation = conversation_of([asked("q" * 400), call("a", tool_input={"deep": ["i" * 400]})])
    before = [dict(part) for message in conversation.messages for part in message.parts]
    fit_context(None, conversation, budget=50, count_tokens=quarters)
    assert [dict(part) for message in conversation.messages for part in message.parts] == before


def test_the_overview_is_sure_of_its_reserve() -> None:
    context = fitted([asked()] * 50, 240, BODIES)
    assert 0 < context.overview_tokens <= 60
    assert len(context.messages) == 18


def test_an_overview_that_does_not_fit_beside_all_messages_is_shown_by_sections() -> None:
    whole = fitted([asked()], 10_000, BODIES)
    short = fitted([asked()], 10 + whole.overview_tokens - 1, BODIES)
    assert short.omitted_sections
    assert (short.dropped_messages, short.shortened_messages) == (0, ())


TEXT = st.integers(0, 16).map(lambda n: "word " * n)
TOOL_IDS = st.sampled_from("abc")
PARTS: st.SearchStrategy[Part] = st.one_of(
    TEXT.map(lambda text: {"type": "text", "text": text}),
    TEXT.map(lambda text: {"type": "context", "uri": "viking://x", "abstract": text}),
    TEXT.map(lambda text: {"type": "later", "deep": [text, 1, None]}),
    st.just({"type": "image", "url": "http://x"}),
    st.tuples(TOOL_IDS, TEXT).map(lambda given: dict(call(given[0], tool_input={"in": given[1], "n": 3}).parts[0])),
    st.tuples(TOOL_IDS, TEXT).map(lambda given: dict(result(given[0], given[1]).parts[0])),
)
MESSAGES = st.lists(
    st.one_of(
        TEXT.map(asked),
        TEXT.map(answered),
        TOOL_IDS.map(calls),
        TOOL_IDS.map(results),
        st.builds(NewMessage, st.sampled_from(MessageRole), st.lists(PARTS, max_size=4).map(tuple)),
    ),
    max_size=7,
)


@given(messages=MESSAGES, budget=st.integers(0, 400), with_document=st.booleans())
def test_what_is_shown_fits_is_counted_exactly_and_tears_no_pair(
    messages: list[NewMessage], budget: int, with_document: bool
) -> None:
    context = fitted(messages, budget, BODIES if with_document else None)
    assert context.overview_tokens == quarters(context.overview)
    assert [m.tokens for m in context.messages] == [quarters(countable_text(m.parts)) for m in context.messages]
    assert context.message_tokens == sum(message.tokens for message in context.messages)
    assert context.overview_tokens + context.message_tokens <= budget
    seqs = [message.seq for message in context.messages]
    assert seqs == sorted(set(seqs))
    assert context.dropped_messages == len(messages) - len(seqs)
    assert [pair for pair in tool_pairs(messages) if (pair[0] in seqs) != (pair[1] in seqs)] == []


@settings(max_examples=60, deadline=None)
@given(messages=MESSAGES, with_document=st.booleans())
def test_no_larger_budget_shows_less(messages: list[NewMessage], with_document: bool) -> None:
    bodies = BODIES if with_document else None
    enough = fitted(messages, 1_000_000, bodies)
    less = fitted(messages, 0, bodies)
    assert less.messages == ()
    for budget in range(1, enough.overview_tokens + enough.message_tokens + 2):
        more = fitted(messages, budget, bodies)
        lengths = {m.seq: visible(m.parts) for m in more.messages}
        for message in less.messages:
            assert all(a <= b for a, b in zip(visible(message.parts), lengths[message.seq], strict=True))
        assert set(more.omitted_sections) <= set(less.omitted_sections) or not less.overview
        less = more
    assert (less.dropped_messages, less.shortened_messages, less.omitted_sections) == (0, (), ())


def visible(parts: Sequence[Part]) -> list[int]:
    """Return how many characters of each value are shown; a mark stands for none."""
    return [len(value.replace(OMISSION, "")) for part in parts for value in map(str, shown_values(part))]


def shown_values(part: Part) -> list[object]:
    match part:
        case {"type": "tool"}:
            tool_input = part.get("tool_input")
            return [tool_input["in"] if isinstance(tool_input, dict) and "in" in tool_input else "",
                    part.get("tool_output", "")]  # fmt: skip
        case {"type": "later"}:
            return [part["deep"][0] if "deep" in part else ""]
        case _:
            return [part.get("text", part.get("abstract", ""))]
