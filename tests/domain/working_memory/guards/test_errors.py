"""Errors and corrections only ever grow."""

import pytest

from app.domain.working_memory.guards.errors import guard_errors
from app.domain.working_memory.operations import KEEP, Append, Update

OLD = "- Read the summer table.\n- 把阀门编号写反了\n- 単位を間違えた"


@pytest.mark.parametrize(
    ("content", "appended"),
    [
        pytest.param(OLD, (), id="all known"),
        pytest.param("- READ THE **SUMMER** TABLE\n- 把阀门编号写反了。", (), id="known in other dress"),
        pytest.param("- Cut the wrong cable", ("Cut the wrong cable",), id="old ones left out"),
        pytest.param("- Read the summer", ("Read the summer",), id="part of a known one"),
        pytest.param("- 阀门", ("阀门",), id="part of a Chinese one"),
        pytest.param("- 単位", ("単位",), id="part of a Japanese one"),
        pytest.param("- a\n- A.\n- b", ("a", "b"), id="twice in one answer"),
        pytest.param("- outer\n  - cause\n  - fix", ("outer\n  - cause\n  - fix",), id="nested"),
        pytest.param("2031. was taken for a number", ("2031. was taken for a number",), id="a year"),
        pytest.param("# Notes\n1. one\n2) two\n---\nNone.", ("one", "two"), id="headings, rules, fillers"),
        pytest.param("```\ntrace\n```", ("```\ntrace\n```",), id="a fence alone"),
    ],
)
def test_a_rewrite_is_reduced_to_new_items(content: str, appended: tuple[str, ...]) -> None:
    assert guard_errors(Update(content), OLD).op == (Append(appended) if appended else KEEP)


@pytest.mark.parametrize(
    ("items", "appended"),
    [
        (("Read the summer table", "Cut a cable"), ("Cut a cable",)),
        (("把阀门编号写反了！",), ()),
        (("x", "X", "**x**"), ("x",)),
        ((), ()),
    ],
)
def test_repeats_are_not_appended(items: tuple[str, ...], appended: tuple[str, ...]) -> None:
    assert guard_errors(Append(items), OLD).op == (Append(appended) if appended else KEEP)
