"""A comparison of two documents shows what people would call a change."""

from app.domain.working_memory.differences import differences
from app.domain.working_memory.sections import SECTIONS, Section


def facts(before: str, after: str):
    found = differences({Section.KEY_FACTS: before}, {Section.KEY_FACTS: after})
    assert [difference.section for difference in found] == list(SECTIONS)
    return next(difference for difference in found if difference.section is Section.KEY_FACTS)


def test_new_and_gone_items_are_told_apart() -> None:
    found = facts("- the budget is 10\n- Anna decides", "- the budget is 12\n- Anna decides")
    assert found.added == ("the budget is 12",)
    assert found.removed == ("the budget is 10",)
    assert found.kept == 1
    assert found.changed


def test_markup_spacing_and_order_are_no_change() -> None:
    assert not facts("- **Anna** decides\n- 预算是 12", "* 预算是 12\n* Anna  decides").changed


def test_a_repeated_item_counts_each_time() -> None:
    assert facts("- again", "- again\n- again").added == ("again",)
