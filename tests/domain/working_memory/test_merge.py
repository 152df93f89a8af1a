"""A merge over all sections: safe texts, kept bytes, recorded decisions, and what waits outside the document."""

from typing import Any

import pytest

from app.domain.working_memory.answers import read_answer
from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.document import parse_document, render_document
from app.domain.working_memory.guards.issues import RESTORED
from app.domain.working_memory.merge import MergeResult, merge
from app.domain.working_memory.operations import Append, SectionOps, Update
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sentinel import SENTINEL

TITLE, STATE, GOALS, FACTS, FILES, ERRORS, ISSUES = SECTIONS

BODIES: Bodies = {
    TITLE: "Harbour ferry timetable",
    STATE: "Waiting for berth data.",
    FACTS: "- Ingrid runs the night boat",
    FILES: "- tools/berths.py - importer",
    ERRORS: "- Read the summer table",
    ISSUES: "- Who signs off?",
}


def tokens(text: str) -> int:
    return len(text) // 4


def merged(ops: Any, bodies: Bodies | None = BODIES, deferred: tuple[DeferredItem, ...] = ()) -> MergeResult:
    return merge(bodies, ops, count_tokens=tokens, deferred=deferred)


def after(section: Section, op: Any, bodies: Bodies = BODIES) -> str:
    return merged({section: op}, bodies).bodies[section]


@pytest.mark.parametrize("ops", [{}, None, 7, "x", [], {"Notes": Update("x")}, {STATE: object()}, {STATE: {"op": 7}}])
def test_what_is_no_operation_keeps_everything(ops: Any) -> None:
    result = merged(ops)
    assert result.bodies == {GOALS: "", **BODIES}
    assert {decision.requested for decision in result.decisions} == {"KEEP"}


def test_a_merge_without_a_document_starts_with_empty_sections() -> None:
    result = merged({STATE: Update("begun"), ISSUES: Append(("a",))}, None)
    assert result.bodies[STATE] == "begun"
    assert result.bodies[ISSUES] == "- a"
    assert list(result.bodies) == list(SECTIONS)


@pytest.mark.parametrize(
    "body", ["  indented\n\n\n- x  ", "a\x0bb\x0c\u2028c", "```\nopen", "<!-- open", "## Usage", "\ttab", "x\n"]
)
def test_a_kept_body_stays_byte_for_byte(body: str) -> None:
    assert merged({}, {STATE: body}).bodies[STATE] == body


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("content", ["", "  \n ", "## {}\n", "\x00"])
def test_an_empty_rewrite_keeps_the_section(section: Section, content: str) -> None:
    result = merged({section: Update(content.format(section))})
    decision = result.decisions[section.number - 1]
    assert not decision.changed
    assert (decision.requested, decision.applied) == ("UPDATE", "KEEP")
    assert (decision.guard, decision.reason) == ("not_empty", "no_text")


@pytest.mark.parametrize(
    ("op", "body"),
    [
        pytest.param(Update("## Current State\nnow"), "now", id="own header"),
        pytest.param(Update("\n## current  state ##\n\nnow"), "now", id="own header in other dress"),
        pytest.param(Update("now\n## Open Issues\n- x"), "now\n### Open Issues\n- x", id="header of another section"),
        pytest.param(Update("now\n  ## Usage\n- x"), "now\n  ### Usage\n- x", id="any level-two heading"),
        pytest.param(Update("now\n## Current State\nlater"), "now\n### Current State\nlater", id="own header later"),
        pytest.param(Update("```\n## Usage\n```"), "```\n## Usage\n```", id="header in a fence"),
        pytest.param(Update("run:\n```sh\nmake"), "run:\n```sh\nmake\n```", id="open fence"),
        pytest.param(Update("x\n<!-- y"), "x\n<!-- y\n-->", id="open comment"),
        pytest.param(Update("\n\n  x\n\n"), "x", id="blank lines around"),
        pytest.param(Update("  - x\n    - y\n  - z"), "- x\n  - y\n- z", id="an indent that all lines share"),
        pytest.param(Update("  x\ny"), "x\ny", id="an indent of the first line"),
        pytest.param(Update("a\x00b\ud800c"), "ab\ufffdc", id="what no column can hold"),
        pytest.param(
            Append(("x\n## Open Issues\n",)), "Waiting for berth data.\n- x\n  ### Open Issues", id="in an item"
        ),
        pytest.param(Append(("## Open Issues",)), "Waiting for berth data.\n- ### Open Issues", id="as an item"),
        pytest.param(
            Append(("x\n```\n# y",)), "Waiting for berth data.\n- x\n  ```\n  # y\n  ```", id="fence in an item"
        ),
        pytest.param(Append(("- a\n- b",)), "Waiting for berth data.\n- a\n- b", id="a list as an item"),
        pytest.param(Append(("one\ntwo",)), "Waiting for berth data.\n- one\n  two", id="two lines"),
        pytest.param(
            Append(("- x", "* y", "1. z", "• w")), "Waiting for berth data.\n- x\n- y\n- z\n- w", id="own marks"
        ),
        pytest.param(Append((" a ", "", " ", "---")), "Waiting for berth data.\n- a", id="nothing said"),
    ],
)
def test_texts_are_made_safe_before_they_are_stored(op: Any, body: str) -> None:
    result = merged({STATE: op})
    assert result.bodies[STATE] == body
    assert parse_document(render_document(result.bodies))[STATE] == body


def test_an_item_is_appended_behind_a_fence_that_was_left_open() -> None:
    assert after(STATE, Append(("a",)), {STATE: "```\nmake"}) == "```\nmake\n```\n- a"


@pytest.mark.parametrize("victim", [ERRORS, FACTS, TITLE])
@pytest.mark.parametrize("text", ["x\n## {}\n", "x\n  ## {} ##\n- gone", "```\n## {}\n"])
def test_no_text_reaches_another_section(victim: Section, text: str) -> None:
    ops = {ISSUES: Append((text.format(victim),)), STATE: Update(text.format(victim))}
    again = parse_document(render_document(merged(ops).bodies))
    assert again[victim] == BODIES[victim]


@pytest.mark.parametrize(
    ("content", "taken"),
    [("Berth data arrived, table", True), ("Berth", False)],
)
def test_the_rest_of_a_cut_text_replaces_a_free_section_only_when_long_enough(content: str, taken: bool) -> None:
    result = merged({STATE: Update(content, truncated=True)})
    assert (result.bodies[STATE] == content) is taken
    assert result.decisions[STATE.number - 1].guard == ("" if taken else "truncation")


def test_a_cut_text_passes_the_guards_of_guarded_sections() -> None:
    result = merged({ERRORS: Update("- Cut the wr", truncated=True), ISSUES: Update("- new", truncated=True)})
    assert result.bodies[ERRORS] == "- Read the summer table\n- Cut the wr"
    assert result.bodies[ISSUES] == f"- new\n- {RESTORED} Who signs off?"


def test_guards_do_not_look_at_empty_sections() -> None:
    assert after(TITLE, Update("Anything goes"), {}) == "Anything goes"
    assert after(ERRORS, Update("prose without a bullet"), {}) == "prose without a bullet"


def test_every_section_has_a_decision_that_says_what_happened() -> None:
    ops: SectionOps = {
        TITLE: Update("Glider cable"),
        STATE: Update("Berth data in."),
        FACTS: Append(("ingrid runs the night boat",)),
        FILES: Update("- tools/tide.py"),
        ISSUES: Update("- other"),
    }
    said = [
        (one.section, one.requested, one.applied, one.guard, one.reason, one.changed) for one in merged(ops).decisions
    ]
    assert said == [
        (TITLE, "UPDATE", "KEEP", "title_stability", "no_common_word", False),
        (STATE, "UPDATE", "UPDATE", "", "", True),
        (GOALS, "KEEP", "KEEP", "", "", False),
        (FACTS, "APPEND", "KEEP", "no_repeats", "all_known", False),
        (FILES, "UPDATE", "APPEND", "files_no_regression", "references_lost", True),
        (ERRORS, "KEEP", "KEEP", "", "", False),
        (ISSUES, "UPDATE", "UPDATE", "open_issues", "issues_restored", True),
    ]


def waiting(text: str, section: Section = FACTS) -> DeferredItem:
    return DeferredItem(section, text, DeferralReason.THROTTLED)


@pytest.mark.parametrize(
    "fact", ["launch in May", "- **Launch** in May!", "LAUNCH in may, at last", "after\n  launch in May"]
)
def test_a_deferred_fact_leaves_the_list_when_the_section_says_it(fact: str) -> None:
    assert merged({FACTS: Append((fact,))}, deferred=(waiting("launch in May"),)).deferred == ()


@pytest.mark.parametrize("fact", ["relaunch in May", "launch in Mayfair", "launch", "may launch"])
def test_a_deferred_fact_waits_for_itself(fact: str) -> None:
    deferred = (waiting("launch in May"),)
    assert merged({FACTS: Append((fact,))}, deferred=deferred).deferred == deferred


def test_a_deferred_fact_with_a_fence_leaves_the_list_too() -> None:
    fact = "run:\n~~~sh\nmake\n~~~"
    assert merged({FACTS: Append((fact,))}, deferred=(waiting(fact),)).deferred == ()


def test_a_deferred_fact_waits_for_its_own_section() -> None:
    deferred = (waiting("launch in May"),)
    assert merged({STATE: Append(("launch in May",))}, deferred=deferred).deferred == deferred


def test_a_fact_is_deferred_once() -> None:
    twice = (waiting("launch in May"), waiting("Launch in May."))
    assert merged({}, deferred=twice).deferred == twice[:1]


def test_issues_dropped_twice_wait_until_they_are_resolved() -> None:
    bodies: Bodies = {ISSUES: "- tide gauge broken\n- keep"}
    deferred: tuple[DeferredItem, ...] = ()
    seen = []
    for op in (Update("- keep"), Update("- keep"), Append(("tide gauge: fixed",))):
        result = merged({ISSUES: op}, bodies, deferred)
        bodies, deferred = result.bodies, result.deferred
        seen.append((bodies[ISSUES], [item.text for item in deferred]))
    assert seen == [
        (f"- keep\n- {RESTORED} tide gauge broken", []),
        ("- keep", ["tide gauge broken"]),
        ("- keep\n- tide gauge: fixed", []),
    ]


def test_facts_grow_to_the_limits_then_wait_and_a_consolidation_lets_them_in() -> None:
    bodies: Bodies = {}
    deferred: tuple[DeferredItem, ...] = ()
    for number in range(60):
        result = merged({FACTS: Append((f"crane {number} checked",))}, bodies, deferred)
        bodies, deferred = result.bodies, result.deferred
    assert bodies[FACTS].split("\n") == [*(f"- crane {number} checked" for number in range(51)), f"- {SENTINEL}"]
    assert [item.text for item in deferred] == [f"crane {number} checked" for number in range(51, 60)]
    dense = "\n".join(f"- cranes {n} to {n + 9} checked" for n in range(0, 50, 10)) + "\n- checked: crane 50\n" * 6
    taken = merged({FACTS: Update(dense)}, bodies, deferred)
    assert SENTINEL not in taken.bodies[FACTS]
    again = merged({FACTS: Append(tuple(item.text for item in deferred))}, taken.bodies, taken.deferred)
    assert not {item.text for item in deferred} & {item.text for item in again.deferred}


def test_files_grow_without_a_limit() -> None:
    bodies: Bodies = {}
    for number in range(70):
        bodies = merged({FILES: Append((f"log/day_{number}.md",))}, bodies).bodies
    assert bodies[FILES].count("\n") == 69


def test_a_document_written_anew_passes_the_guards() -> None:
    anew = {section: Update(f"brand new text about {section.number}") for section in SECTIONS}
    bodies = merged(anew).bodies
    assert bodies[TITLE] == BODIES[TITLE]
    for section in (FACTS, FILES, ERRORS, ISSUES):
        assert BODIES[section].removeprefix("- ") in bodies[section]


def test_answers_with_other_spellings_of_the_names_are_merged() -> None:
    answer = {
        "Errors and Corrections": {"op": "APPEND", "items": ["x"]},
        "Task Goals": {"op": "UPDATE", "content": "y"},
    }
    bodies = merged(read_answer(answer).ops).bodies
    assert (bodies[GOALS], bodies[ERRORS]) == ("y", "- Read the summer table\n- x")
