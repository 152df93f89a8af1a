"""The dry runs answer line by line and never with a traceback."""

import json

import pytest


def answers(result) -> list[dict]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_document_is_split_into_sections_items_and_warnings(cairn):
    record = {"id": "a", "document": "## Current State\n- 数据库已迁移\n- it works"}
    [answer] = answers(cairn("wm", "parse", stdin=json.dumps(record)))
    assert answer["id"] == "a"
    assert answer["items"]["Current State"] == ["数据库已迁移", "it works"]
    assert answer["warnings"] == []


def test_a_merge_tells_the_document_and_every_decision(cairn):
    record = {"id": 1, "document": "", "sections": {"current_state": {"op": "UPDATE", "content": "- it works"}}}
    [answer] = answers(cairn("wm", "merge", stdin=json.dumps(record)))
    assert set(answer) == {"id", "document", "decisions", "deferred"}
    assert len(answer["decisions"]) == 7


def test_a_broken_answer_is_recovered(cairn):
    record = {"id": 1, "raw": '{"current_state": {"op": "KEEP"}'}
    [answer] = answers(cairn("wm", "recover", stdin=json.dumps(record)))
    assert set(answer) == {"id", "sections"}


@pytest.mark.parametrize("command", ["merge", "recover", "parse"])
@pytest.mark.parametrize("line", ["{", "[]", "null", "7", '"text"', '{"id": 1}', '{"id": "\\ud800"}', "[" * 100_000])
def test_bad_input_gives_an_error_and_the_next_line_its_answer(cairn, command, line):
    good = json.dumps({"id": "next", "document": "", "raw": "{}", "sections": {}})
    bad, following = answers(cairn("wm", command, stdin=f"{line}\n\n{good}\n"))
    assert set(bad) == {"id", "error"}
    assert following["id"] == "next"
    assert "error" not in following
