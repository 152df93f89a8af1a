"""Dates, values, names and decisions in three languages."""

import pytest

from app.domain.working_memory.anchors import AnchorKind, comparable_value, find_anchors
from app.domain.working_memory.coverage import Saying, content_words, coverage
from app.domain.working_memory.items import read_items


def found(text: str) -> set[str]:
    return {anchor.text for anchor in find_anchors(text)}


@pytest.mark.parametrize(
    "text",
    [
        "2031-10-07", "2031/10/7", "7.10.2031", "07.10.2031", "October 7, 2031",
        "Oct 7 2031", "7 October 2031", "7th of Oct. 2031", "2031年10月7日",
        "2031 年 10 月 7 日", "於2031年10月7號開工",
        "2031-10-07T09:30:00Z", "会議は2031年10月7日です",
    ],
)  # fmt: skip
def test_every_spelling_of_a_day_is_one_anchor(text: str) -> None:
    assert found(text) == {"2031-10-07"}


def test_a_day_with_slashes_and_the_year_last_has_one_form_for_both_readings() -> None:
    assert found("07/10/2031") == found("10/07/2031")
    assert found("25/10/2031") == {"2031-10-25"}


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("on 8 May, 2023 with Mel", {"2023-05-08", "mel"}),
        ("on May 7", {"05-07"}),
        ("4月2日", {"04-02"}),
        ("2031年4月", {"2031-04"}),
        ("may seven people", set()),
        ("costs ¥300, €40, £5 and 300元", {"¥300", "€40", "£5", "300元"}),
        ("v2.1.0 on port 8080 at 15%", {"v2.1.0", "8080", "15%"}),
        ("预算三万元", {"三万元"}),
        ("予算は5万円、3人", {"5万円", "3人"}),
        ("1,500 dollars for 3 kids", {"1,500 dollars", "3 kids"}),
        ("3days and 3-day", {"3days", "3-day"}),
        ("at 9 AM or 18:30", {"9 am", "18:30"}),
        ("使用Redis缓存", {"redis"}),
        ("我们决定采用铜管", {"决定", "采用"}),
        ("銅管に決定、理由は価格", {"決定", "理由"}),
        ("Al and Bo met Zoë", {"al", "bo", "zoë"}),
        ("met Ольга, Ünal and Ørsted", {"ольга", "ünal", "ørsted"}),
        ("iPhone and eBay", set()),
        ("The And Which", set()),
        ("pump 12 runs", set()),
    ],
)
def test_exact_things_are_anchors(text: str, anchors: set[str]) -> None:
    assert found(text) == anchors


def test_words_of_decision_point_at_no_single_thing() -> None:
    kinds = {anchor.kind: anchor.is_specific for anchor in find_anchors("Ingrid chose brass on 2031-01-02 for $5")}
    assert kinds == {AnchorKind.NAME: True, AnchorKind.DECISION: False, AnchorKind.DATE: True, AnchorKind.VALUE: True}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("3   days", "3 day"),
        ("1,500 dollars", "1500 dollars"),
        ("2 persons", "2 people"),
        ("$1,000", "$1000"),
        ("3days", "3-day"),
    ],
)
def test_values_are_compared_without_their_spelling(one: str, two: str) -> None:
    assert comparable_value(one) == comparable_value(two)


@pytest.mark.parametrize(
    ("old", "new", "covered", "total"),
    [
        ("- Ingrid rows", "- ingrid and others row", 1, 1),
        ("- Repainted the deck", "- The deck was repainted", 1, 1),
        ("- launch 2031-04-02", "- launch on April 2, 2031", 1, 1),
        ("- launch May 7", "- launch on 2031-05-07", 1, 1),
        ("- 于2031-04-02上线Redis", "- 2031年4月2日，Redis", 2, 2),
        ("- 林晓雨负责硬件", "- 硬件由林晓雨负责", 1, 1),
        ("- 林晓雨负责硬件", "- 全部改写", 0, 1),
        ("- 料金表は田中が更新する", "- 田中が料金表を担当", 1, 1),
        ("- 料金表は田中が更新する", "- 天気が良い", 0, 1),
        ("- the deploy script needs root", "- root needed by deploy script", 1, 1),
        ("- the deploy script needs root", "- all rewritten", 0, 1),
        ("- chose it because of heavy rain", "- we chose it because", 2, 3),
        ("- 1\n- 2", "- 3", 0, 0),
    ],
)
def test_coverage_counts_what_survives_a_rewrite(old: str, new: str, covered: int, total: int) -> None:
    counted = coverage(read_items(old), Saying(new))
    assert (counted.covered, counted.total) == (covered, total)


def test_what_a_text_is_about_are_its_longer_words_and_character_pairs() -> None:
    assert content_words("The pumps ran at 12 泵房") == {"pump", "ran", "泵房"}
