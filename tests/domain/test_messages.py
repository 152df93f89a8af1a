from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.messages import (
    MessageRole,
    NewMessage,
    ToolUse,
    body_sha256,
    countable_text,
    is_result,
    is_user_turn,
    readable_text,
    tool_uses,
)
from tests.support.conversations import answered, calls, results, said

TOOL = {"type": "tool", "tool_id": "t1", "tool_name": "read", "tool_input": {"path": "/a"}, "tool_output": "text"}


@pytest.mark.parametrize(
    ("part", "counted"),
    [
        ({"type": "text", "text": "hello 你好"}, "hello 你好"),
        ({"type": "text"}, ""),
        ({"type": "context", "uri": "x://y", "abstract": "about y"}, "about y"),
        (TOOL, 't1read{"path": "/a"}text'),
        ({"type": "tool", "tool_id": "t1", "tool_name": "read"}, "t1read"),
        ({"type": "image", "url": "data:image/png;base64,AAAA"}, ""),
        ({"type": "image_url", "image_url": {"url": "https://x"}}, ""),
        ({"type": "thought", "text": "hm"}, "hm"),
        ({"type": "later", "deep": [1]}, '{"deep": [1], "type": "later"}'),
    ],
)
def test_everything_a_model_may_read_is_counted_but_images(part: Mapping[str, object], counted: str) -> None:
    assert sorted(countable_text([part])) == sorted(counted)


def test_the_parts_of_a_message_are_counted_together() -> None:
    assert countable_text([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]) == "one two"


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        ({"tool_status": "completed"}, True),
        ({"tool_status": "error"}, True),
        ({"tool_status": "pending"}, False),
        ({"tool_status": "running", "tool_output": ""}, False),
        ({"tool_output": "x"}, True),
        ({}, False),
    ],
)
def test_a_tool_part_is_a_result_by_its_status_or_its_output(part: Mapping[str, object], answer: bool) -> None:
    assert is_result(part) is answer


def test_tool_parts_are_found_by_their_message() -> None:
    messages = [said(), calls("a", "b"), results("b"), NewMessage(MessageRole.USER, ({"type": "tool"},))]
    assert tool_uses(messages) == [ToolUse(1, "a", False), ToolUse(1, "b", False), ToolUse(2, "b", True)]


@pytest.mark.parametrize(
    ("message", "speaks"),
    [
        (said(), True),
        (NewMessage(MessageRole.USER, ()), True),
        (NewMessage(MessageRole.USER, ({"type": "image", "url": "x"},)), True),
        (answered(), False),
        (said(by=MessageRole.SYSTEM), False),
        (results("a"), False),
        (NewMessage(MessageRole.USER, results("a").parts), False),
        (NewMessage(MessageRole.USER, (*results("a").parts, {"type": "text", "text": "and"})), True),
    ],
)
def test_a_person_speaks_in_a_user_message_that_is_more_than_results(message: NewMessage, speaks: bool) -> None:
    assert is_user_turn(message) is speaks


def test_the_fingerprint_is_the_same_for_the_same_body_and_for_no_other() -> None:
    message = NewMessage(MessageRole.USER, ({"type": "text", "text": "a", "x": 1},), client_message_id="1")
    same = replace(message, parts=({"x": 1, "text": "a", "type": "text"},), client_message_id="2")
    assert body_sha256(same) == body_sha256(message)
    others = (
        replace(message, role=MessageRole.ASSISTANT),
        replace(message, parts=({"type": "text", "text": "b", "x": 1},)),
        replace(message, parts=(*message.parts, *message.parts)),
        replace(message, peer_id="p"),
        replace(message, said_at=datetime(2031, 1, 1, tzinfo=UTC)),
        replace(message, attributes={"turn_id": "t"}),
    )
    assert len({body_sha256(other) for other in (message, *others)}) == 1 + len(others)


def test_a_model_reads_text_and_what_tools_were_given_and_said() -> None:
    parts = (
        {"type": "text", "text": "look"},
        {"type": "context", "abstract": "a file"},
        {**TOOL, "tool_status": "completed"},
        {"type": "image"},
    )
    assert readable_text(parts).splitlines() == [
        "look", "[context] a file", "[tool read: completed]", 'input: {"path": "/a"}', "output: text", "[image]",
    ]  # fmt: skip


def test_a_call_without_an_answer_reads_as_pending() -> None:
    assert readable_text(calls("a").parts) == "[tool read: pending]"
    assert readable_text([{"type": "tool"}]) == "[tool unnamed: pending]"
    assert readable_text([]) == ""
