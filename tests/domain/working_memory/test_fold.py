"""Several answers in a row are one update of the document."""

from app.domain.working_memory.fold import fold
from app.domain.working_memory.merge import merge
from app.domain.working_memory.operations import KEEP, Append, Update
from app.domain.working_memory.sections import SECTIONS, Section

BEFORE = {section: f"- first line of {section.name.lower()}" for section in SECTIONS}


def characters(text: str) -> int:
    return len(text)


def test_no_answers_change_nothing() -> None:
    result = fold(BEFORE, [], count_tokens=characters)
    assert result.bodies == BEFORE
    assert not any(decision.changed for decision in result.decisions)


def test_one_answer_is_a_merge() -> None:
    ops = {Section.CURRENT_STATE: Update("- on the way"), Section.OPEN_ISSUES: Append(("call Anna",))}
    assert fold(BEFORE, [ops], count_tokens=characters) == merge(BEFORE, ops, count_tokens=characters)


def test_later_answers_build_on_earlier_ones() -> None:
    answers = [
        {Section.ERRORS_AND_CORRECTIONS: Append(("the port is 5433",))},
        {Section.ERRORS_AND_CORRECTIONS: Append(("the port is 5433", "the host is db2"))},
    ]
    result = fold(BEFORE, answers, count_tokens=characters)
    assert result.bodies[Section.ERRORS_AND_CORRECTIONS].count("the port is 5433") == 1
    assert "the host is db2" in result.bodies[Section.ERRORS_AND_CORRECTIONS]


def test_a_decision_tells_the_strongest_operation_and_whether_the_end_differs() -> None:
    away_and_back = [
        {Section.CURRENT_STATE: Update("- elsewhere")},
        {Section.CURRENT_STATE: Update(BEFORE[Section.CURRENT_STATE])},
        {Section.CURRENT_STATE: KEEP},
    ]
    result = fold(BEFORE, away_and_back, count_tokens=characters)
    decision = next(d for d in result.decisions if d.section is Section.CURRENT_STATE)
    assert (decision.requested, decision.applied, decision.changed) == ("UPDATE", "UPDATE", False)


def test_the_first_document_is_folded_from_nothing() -> None:
    created = {section: Update(f"- about {section.name.lower()}") for section in SECTIONS}
    result = fold(None, [created, {Section.KEY_FACTS: Append(("the budget is 12,000 EUR",))}], count_tokens=characters)
    assert "- about key_facts" in result.bodies[Section.KEY_FACTS]
    assert "12,000 EUR" in result.bodies[Section.KEY_FACTS]
