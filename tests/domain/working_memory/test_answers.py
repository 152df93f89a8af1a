"""Reading model answers, however they were wrapped, quoted or cut."""

import json
from typing import Any

import pytest

from app.domain.working_memory.answers import AnswerPath, read_answer, read_created, recover_ops
from app.domain.working_memory.operations import KEEP, Append, SectionOp, Update, op_document
from app.domain.working_memory.sections import SECTIONS, Section

STATE, ISSUES, FILES = Section.CURRENT_STATE, Section.OPEN_ISSUES, Section.FILES_AND_CONTEXT

OPS: dict[str, Any] = {
    "Session Title": {"op": "KEEP"},
    "Current State": {"op": "UPDATE", "content": 'He said "stop" {now}'},
    "Open Issues": {"op": "APPEND", "items": ["[P1] fares", "berth[0] empty"]},
}
READ: dict[Section, SectionOp] = {
    Section.SESSION_TITLE: KEEP,
    STATE: Update('He said "stop" {now}'),
    ISSUES: Append(("[P1] fares", "berth[0] empty")),
}
TEXT = json.dumps({"sections": OPS})


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        pytest.param({"sections": OPS}, AnswerPath.ARGUMENTS, id="object"),
        pytest.param(OPS, AnswerPath.ARGUMENTS, id="without the wrapper"),
        pytest.param({"sections": json.dumps(OPS)}, AnswerPath.ARGUMENTS, id="text inside the wrapper"),
        pytest.param({"arguments": {"sections": OPS}}, AnswerPath.ARGUMENTS, id="wrapped twice"),
        pytest.param([{"sections": OPS}], AnswerPath.ARGUMENTS, id="in a list"),
        pytest.param(TEXT, AnswerPath.JSON_TEXT, id="text"),
        pytest.param(json.dumps(TEXT), AnswerPath.JSON_TEXT, id="text in text"),
        pytest.param(f"Here you are: {TEXT} Bye.", AnswerPath.JSON_TEXT, id="between sentences"),
        pytest.param(f"```json\n{TEXT}\n```", AnswerPath.FENCED_JSON, id="fence"),
        pytest.param(f"Sure!\n\n~~~\n{TEXT}\n~~~\nDone.", AnswerPath.FENCED_JSON, id="fence between sentences"),
        pytest.param(f'<think>"Open Issues": {{"op": "KEEP"}}</think>{TEXT}', AnswerPath.JSON_TEXT, id="thought"),
        pytest.param(f"hm, braces?</think>\n{TEXT}", AnswerPath.JSON_TEXT, id="thought without a start"),
        pytest.param({"raw": TEXT}, AnswerPath.RAW_JSON, id="raw"),
        pytest.param({"raw": TEXT[:-2]}, AnswerPath.RECOVERED, id="raw without its last braces"),
        pytest.param(TEXT[:-1], AnswerPath.RECOVERED, id="cut"),
        pytest.param(TEXT.replace("KEEP", "keep").replace("APPEND", "Append"), AnswerPath.JSON_TEXT, id="lower case"),
        pytest.param(TEXT.replace('\\"stop\\"', '"stop"'), AnswerPath.RECOVERED, id="inner quotes"),
        pytest.param(TEXT.replace("}, ", "},, "), AnswerPath.RECOVERED, id="doubled commas"),
        pytest.param(TEXT.replace("}, ", "} "), AnswerPath.RECOVERED, id="missing commas"),
        pytest.param(f"{{'sections': {OPS!r}}}", AnswerPath.RECOVERED, id="Python in place of JSON"),
    ],
)
def test_an_answer_is_read_whatever_its_wrapping(answer: Any, path: AnswerPath) -> None:
    read = read_answer(answer)
    assert (read.ops, read.path) == (READ, path)
    assert read.usable
    assert read.truncated == frozenset()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "",
        "I cannot help with that.",
        [],
        {},
        {"raw": ""},
        {"sections": None},
        {"sections": [1, 2]},
        "{" * 5000,
        "[" * 5000,
    ],
)
def test_an_answer_without_operations_is_unusable(answer: Any) -> None:
    read = read_answer(answer)
    assert (read.ops, read.path, read.usable) == ({}, AnswerPath.UNUSABLE, False)


@pytest.mark.parametrize(
    ("raw", "ops"),
    [
        pytest.param(
            '"Open Issues": {"op": "APPEND", "items": ["a", "b"', {ISSUES: Append(("a", "b"))}, id="no bracket"
        ),
        pytest.param('"Open Issues": {"op": "APPEND", "items": ["a",', {ISSUES: Append(("a",))}, id="comma at the end"),
        pytest.param(
            '"Open Issues": {"op": "APPEND", "items": ["a", "b c', {ISSUES: Append(("a", "b c"), True)}, id="cut item"
        ),
        pytest.param(
            '{"sections": {"Current State": {"op": "UPDATE", "content": "half',
            {STATE: Update("half", True)},
            id="cut text",
        ),
        pytest.param('"Current State": {"op": "UPD', {}, id="cut name"),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "a\\u6c', {STATE: Update("a", True)}, id="cut escape"
        ),
        pytest.param(
            "“Current State”: {“op”: “UPDATE”, “content”: “curly”}", {STATE: Update("curly")}, id="curly quotes"
        ),
        pytest.param(
            "'Open Issues': {'items': ['it\\'s', 'b'], 'op': 'append'}",
            {ISSUES: Append(("it's", "b"))},
            id="single quotes",
        ),
        pytest.param('"Current State": {"content": "x", "op": "update"}', {STATE: Update("x")}, id="other key order"),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "a "b", c "d" e"}',
            {STATE: Update('a "b", c "d" e')},
            id="inner quotes",
        ),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "note "to self": x"}',
            {STATE: Update('note "to self": x')},
            id="inner quote before a colon",
        ),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "a\nb\tc"}',
            {STATE: Update("a\nb\tc")},
            id="raw control characters",
        ),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "a\\nb \\u6c34 \\ud83d\\ude00"}',
            {STATE: Update("a\nb 水 😀")},
            id="escapes",
        ),
        pytest.param(
            '"Files & Context": {"op": "APPEND", "items": ["C:\\new\\tools"]}',
            {FILES: Append(("C:\\new\\tools",))},
            id="Windows path",
        ),
        pytest.param(
            '"Files & Context": {"op": "APPEND", "items": ["D:\\temp"]}',
            {FILES: Append(("D:\\temp",))},
            id="path with a tab",
        ),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "Plan B:\\n- x"',
            {STATE: Update("Plan B:\n- x")},
            id="line break after a colon",
        ),
        pytest.param(
            '"Files & Context": {"op": "APPEND", "items": ["C:\\\\new"]}',
            {FILES: Append(("C:\\new",))},
            id="escaped path",
        ),
        pytest.param('"Task \\u0026 Goals": {"op": "KEEP"}', {Section.TASK_AND_GOALS: KEEP}, id="escaped ampersand"),
        pytest.param('"Task and Goals": {"op": "KEEP"}', {Section.TASK_AND_GOALS: KEEP}, id="and for &"),
        pytest.param('"current state": {"op": "KEEP"}, "Notes": {"op": "KEEP"}', {}, id="unknown names"),
        pytest.param("Current State: {op: KEEP}", {STATE: KEEP}, id="no quotes at all"),
        pytest.param(
            '"Open Issues": {"op": "APPEND", "items": "just text"}',
            {ISSUES: Append(("just text",))},
            id="text for a list",
        ),
        pytest.param(
            '"Open Issues": {"op": "APPEND", "content": "- a\\n- b"}',
            {ISSUES: Append(("a", "b"))},
            id="content for items",
        ),
        pytest.param(
            '"Open Issues": {"op": "APPEND", "items": ["a"}, "Current State": {"op": "KEEP"}',
            {ISSUES: Append(("a",)), STATE: KEEP},
            id="bracket left out",
        ),
        pytest.param(
            '"Open Issues": {"op": "APPEND", "items": ["a"], "Current State": {"op": "KEEP"}',
            {ISSUES: Append(("a",)), STATE: KEEP},
            id="brace left out",
        ),
        pytest.param(
            '"Current State": {"op": "UPDATE", "content": "says \\"Open Issues\\": {\\"op\\": \\"KEEP\\"}"}',
            {STATE: Update('says "Open Issues": {"op": "KEEP"}')},
            id="operations inside a text",
        ),
        pytest.param('"Current State": {"op": 7, "content": "x"}', {}, id="numeric name"),
        pytest.param('"Current State": {"op": "UPDATE", "content": ["x"]}', {}, id="list for a text"),
        pytest.param('"Current State": "KEEP"', {}, id="no object"),
        pytest.param(
            '"Key Facts & Decisions": {"op": "APPEND", "items": ["林晓雨负责硬件", "予算は三万円',
            {Section.KEY_FACTS: Append(("林晓雨负责硬件", "予算は三万円"), True)},
            id="Chinese and Japanese",
        ),
    ],
)
def test_operations_are_recovered_section_by_section(raw: str, ops: dict[Section, SectionOp]) -> None:
    assert recover_ops(raw) == ops


@pytest.mark.parametrize("reader", [recover_ops, lambda text: read_answer(f"{{{text}}}").ops])
@pytest.mark.parametrize(
    ("names", "op"),
    [
        (["KEEP", "one"], Update("one")),
        (["one", "KEEP"], Update("one")),
        (["one", "two"], Update("two")),
        (["+a", "one", "+b"], Update("one")),
        (["+a", "KEEP", "+b"], Append(("a", "b"))),
    ],
)
def test_of_repeated_keys_the_one_that_says_most_counts(reader: Any, names: list[str], op: SectionOp) -> None:
    def written(name: str) -> dict[str, object]:
        if name == "KEEP":
            return {"op": "KEEP"}
        return {"op": "APPEND", "items": [name[1:]]} if name[0] == "+" else {"op": "UPDATE", "content": name}

    text = ", ".join(f'"Current State": {json.dumps(written(name))}' for name in names)
    assert reader(text)[STATE] == op


@pytest.mark.parametrize(
    ("value", "op"),
    [
        ({"op": "KEEP", "content": "x"}, KEEP),
        ({"op": "UPDATE"}, Update("")),
        ({"op": " UPDATE ", "content": "x"}, None),
        ({"op": "REPLACE", "content": "x"}, None),
        ({"op": None, "content": "x"}, None),
        ({"op": 7}, None),
        ({"op": "UPDATE", "content": 5}, None),
        ({"op": "APPEND", "items": [1, None, "a", " "]}, Append(("a",))),
        ({"op": "APPEND", "items": {"a": 1}}, Append(())),
        ({"op": "APPEND", "items": 5, "content": "x"}, Append(())),
        ({"op": "APPEND", "items": "abc"}, Append(("abc",))),
        ({"op": "APPEND", "items": "- a\n- b"}, Append(("a", "b"))),
        ({"op": "APPEND", "items": None, "content": "- a"}, Append(("a",))),
        ("UPDATE", None),
        (None, None),
    ],
)
def test_wrong_types_are_no_operation(value: object, op: SectionOp | None) -> None:
    read = read_answer({"Current State": value}).ops
    assert read == ({} if op is None else {STATE: op})


def test_an_operation_is_shown_as_a_model_would_write_it() -> None:
    assert op_document(Append(("a",), truncated=True)) == {"op": "APPEND", "items": ["a"], "truncated": True}
    assert op_document(Update("x")) == {"op": "UPDATE", "content": "x"}
    assert op_document(KEEP) == {"op": "KEEP"}


BODIES = {section.value: f"body {section.number}" for section in SECTIONS}
DOCUMENT = "# Working Memory\n\n" + "\n\n".join(f"## {name}\n{body}" for name, body in BODIES.items())


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        pytest.param(BODIES, AnswerPath.ARGUMENTS, id="arguments"),
        pytest.param({"sections": BODIES}, AnswerPath.ARGUMENTS, id="wrapped"),
        pytest.param(
            {name: {"op": "UPDATE", "content": body} for name, body in BODIES.items()},
            AnswerPath.ARGUMENTS,
            id="operations",
        ),
        pytest.param(json.dumps(BODIES), AnswerPath.JSON_TEXT, id="text"),
        pytest.param(f"```json\n{json.dumps(BODIES)}\n```", AnswerPath.FENCED_JSON, id="fence"),
        pytest.param({"raw": json.dumps(BODIES)}, AnswerPath.RAW_JSON, id="raw"),
        pytest.param(DOCUMENT, AnswerPath.DOCUMENT, id="document"),
        pytest.param(
            f"<think>## Open Issues\nno</think>\n```md\n{DOCUMENT}\n```", AnswerPath.DOCUMENT, id="fenced document"
        ),
        pytest.param(json.dumps(BODIES)[:-1], AnswerPath.RECOVERED, id="no brace at the end"),
    ],
)
def test_a_created_document_has_all_seven_bodies(answer: Any, path: AnswerPath) -> None:
    created = read_created(answer)
    assert created is not None
    assert (created.path, {section.value: body for section, body in created.bodies.items()}) == (path, BODIES)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "I cannot help with that.",
        {name: body for name, body in BODIES.items() if name != "Open Issues"},
        DOCUMENT.replace("## Open Issues", "Open Issues"),
        json.dumps(BODIES)[:-5],
        {**BODIES, "Open Issues": 7},
    ],
)
def test_fewer_than_seven_bodies_are_no_document(answer: Any) -> None:
    assert read_created(answer) is None


def test_created_bodies_are_made_safe() -> None:
    created = read_created({**BODIES, "Open Issues": "## Open Issues\n- a\n## Session Title\n```\nx"})
    assert created is not None
    assert created.bodies[ISSUES] == "- a\n### Session Title\n```\nx\n```"
