"""Key facts: capped growth, consolidation without loss, nothing offered is lost."""

import pytest

from app.domain.working_memory.deferral import DeferralReason
from app.domain.working_memory.guards.verdict import Reason, Verdict
from app.domain.working_memory.merge import judge
from app.domain.working_memory.operations import KEEP, Append, Update
from app.domain.working_memory.sections import Section
from app.domain.working_memory.sentinel import SENTINEL, is_sentinel

NAMES = (
    "Ada", "Bea", "Cai", "Dov", "Eli", "Fay", "Gus", "Hal", "Ivy", "Jon",
    "Kit", "Lea", "Max", "Ned", "Oda", "Pia", "Rex", "Sal", "Tia", "Uma",
)  # fmt: skip


def tokens(text: str) -> int:
    return len(text) // 4


def bullets(count: int, text: str = "crane {} lifts at speed {}") -> str:
    return "\n".join("- " + text.format(number, number) for number in range(count))


def judged(op: Update | Append, old: str) -> Verdict:
    return judge(Section.KEY_FACTS, op, old, tokens)


def waiting(verdict: Verdict) -> list[tuple[str, str]]:
    return [(item.text, item.reason) for item in verdict.deferred]


SEVEN = tuple(f"fact number {word}" for word in ["one", "two", "three", "four", "five", "six", "seven"])


@pytest.mark.parametrize("old", [bullets(25), "- " + "x" * 5990, ""])
def test_a_section_within_its_limits_takes_every_new_item(old: str) -> None:
    assert judged(Append(SEVEN), old) == Verdict(Append(SEVEN))


@pytest.mark.parametrize("old", [bullets(26), bullets(50), "- " + "x" * 6010, "- a\n" + "  - nested\n" * 26])
def test_an_oversized_section_takes_five_and_defers_the_rest(old: str) -> None:
    verdict = judged(Append(SEVEN), old)
    assert verdict.op == Append(SEVEN[:5])
    assert waiting(verdict) == [(text, DeferralReason.THROTTLED) for text in SEVEN[5:]]


@pytest.mark.parametrize("old", [bullets(51), "- " + "x" * 12010])
@pytest.mark.parametrize("text", ["launch moved to 2031-05-01", "上线改到五月", "公開は五月に延期"])
def test_at_twice_the_limits_a_section_only_gets_the_sentinel(old: str, text: str) -> None:
    verdict = judged(Append((text,)), old)
    assert verdict.op == Append((SENTINEL,))
    assert verdict.reason is Reason.CONSOLIDATION_REQUIRED
    assert waiting(verdict) == [(text, DeferralReason.CONSOLIDATION_REQUIRED)]


@pytest.mark.parametrize("sentinel", [f"- {SENTINEL}", "- [⚠ CONSOLIDATION REQUIRED: other words]", f"* {SENTINEL}"])
def test_the_sentinel_comes_once_and_later_facts_are_deferred_too(sentinel: str) -> None:
    verdict = judged(Append(("new fact", "second")), f"{bullets(51)}\n{sentinel}")
    assert verdict.op == KEEP
    assert [text for text, _ in waiting(verdict)] == ["new fact", "second"]


@pytest.mark.parametrize("items", [(), ("crane 3 lifts at speed 3",), (SENTINEL,)])
def test_no_sentinel_where_nothing_new_was_refused(items: tuple[str, ...]) -> None:
    verdict = judged(Append(items), bullets(51))
    assert (verdict.op, verdict.deferred) == (KEEP, ())


def test_the_sentinel_counts_for_nothing() -> None:
    assert judged(Append(SEVEN), f"{bullets(25)}\n- {SENTINEL}").op == Append(SEVEN)


@pytest.mark.parametrize(
    "repeat", ["crane 3 lifts at speed 3", "- **Crane 3** lifts  at speed 3.", "CRANE 3 LIFTS AT SPEED 3"]
)
def test_a_known_fact_is_not_appended_again(repeat: str) -> None:
    assert judged(Append((repeat,)), bullets(9)).op == KEEP


@pytest.mark.parametrize("part", ["crane 1", "lifts at speed 1", "crane 1 lifts"])
def test_a_part_of_a_known_fact_is_a_new_fact(part: str) -> None:
    assert judged(Append((part,)), bullets(26)).op == Append((part,))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param(bullets(7), "- cranes lift", Reason.TOO_FEW_BULLETS, id="one bullet of seven"),
        pytest.param("- Ada sings\n- Bea reads", "- someone sings", Reason.ANCHORS_LOST, id="names"),
        pytest.param("- opens 2031-04-02", "- opens soon", Reason.ANCHORS_LOST, id="date"),
        pytest.param("- 于2031-04-02上线，使用Redis缓存", "- 缓存上线", Reason.ANCHORS_LOST, id="glued to Chinese"),
        pytest.param("- 林晓雨负责硬件\n- 泵房在二号坡", "- 全部改写", Reason.ANCHORS_LOST, id="Chinese"),
        pytest.param("- 田中が料金表を更新\n- 港は冬に閉鎖", "- 全部書き直した", Reason.ANCHORS_LOST, id="Japanese"),
        pytest.param("- the deploy script needs root", "- all is new", Reason.ANCHORS_LOST, id="lower case"),
        pytest.param("- costs ¥300 and €40", "- costs little", Reason.ANCHORS_LOST, id="money"),
    ],
)
def test_a_rewrite_that_loses_too_much_is_appended_instead(old: str, new: str, reason: Reason) -> None:
    verdict = judged(Update(new), old)
    assert (verdict.op, verdict.reason) == (Append((new.removeprefix("- "),)), reason)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(bullets(20, "crane {} lifts"), "- a crane lifts\n- b\n- c", id="three bullets of twenty"),
        pytest.param("- Ada sings\n- Bea reads", "- ADA sings, bea reads", id="letter case"),
        pytest.param("- Painted the deck\n- Crew is six", "- The deck was painted\n- Crew is six", id="word order"),
        pytest.param("- opens 2031-04-02", "- opens April 2, 2031", id="spelling of a date"),
        pytest.param("- 林晓雨负责硬件", "- 硬件由林晓雨负责", id="Chinese word order"),
        pytest.param("- 田中が料金表を更新する", "- 料金表は田中が担当", id="Japanese word order"),
        pytest.param("# only a heading", "- anything", id="nothing held"),
        pytest.param("_What is known._\n- None.", "- anything", id="hint and filler"),
    ],
)
def test_a_rewrite_that_keeps_what_matters_is_taken(old: str, new: str) -> None:
    assert judged(Update(new), old).op == Update(new)


def test_seven_of_ten_anchors_are_enough_and_six_are_not() -> None:
    old = "\n".join(f"- {name} sings" for name in NAMES[:10])
    assert judged(Update("\n".join(f"- {name} sings" for name in NAMES[:7])), old).op.name == "UPDATE"
    assert judged(Update("- " + " ".join(NAMES[:6]) + " sing\n- rest"), old).reason is Reason.ANCHORS_LOST


def test_a_refused_rewrite_of_an_oversized_section_is_capped_too() -> None:
    old = "\n".join(f"- {name} moors boat {number}" for number in range(2) for name in NAMES)
    verdict = judged(Update("\n".join(f"- brand {text}" for text in SEVEN)), old)
    assert verdict.op == Append(tuple(f"brand {text}" for text in SEVEN[:5]))
    assert [text for text, _ in waiting(verdict)] == [f"brand {text}" for text in SEVEN[5:]]


def test_a_refused_rewrite_at_twice_the_limits_is_deferred_whole() -> None:
    verdict = judged(Update("- crew code is 4711"), bullets(51))
    assert verdict.op == KEEP
    assert waiting(verdict) == [("crew code is 4711", DeferralReason.CONSOLIDATION_REQUIRED)]


@pytest.mark.parametrize("names", [0, 5, 20])
def test_the_sentinel_never_blocks_its_own_cure(names: int) -> None:
    facts = [f"- {name} moors a boat" for name in NAMES[:names]] + [bullets(51)]
    old = "\n".join([*facts, f"- {SENTINEL}"])
    cure = "\n".join([f"- {' '.join(NAMES[:names])} moor a boat", *["- cranes lift at a shared speed"] * 12])
    assert judged(Update(cure), old).op == Update(cure)


def test_a_rewrite_that_copies_the_sentinel_is_stored_without_it() -> None:
    verdict = judged(Update(f"- crane 0 lifts at speed 0\n- {SENTINEL}"), bullets(2))
    assert isinstance(verdict.op, Update)
    assert not any(map(is_sentinel, verdict.op.content.split("\n")))


def test_an_accepted_rewrite_defers_what_it_leaves_out() -> None:
    old = "- Ada sings\n- Bea reads\n- Cai swims\n- the deploy script needs root\n- pumps were painted red"
    new = "- Ada sings in May\n- Bea reads\n- Cai swims\n- red paint on pumps"
    assert waiting(judged(Update(new), old)) == [
        ("the deploy script needs root", DeferralReason.CONSOLIDATED_AWAY),
        ("pumps were painted red", DeferralReason.REWORDED),
    ]


def test_items_that_only_repeat_are_named_so_that_a_later_rewrite_may_drop_them() -> None:
    old = "\n".join(f"- {name} sings" for name in NAMES[:10])
    verdict = judged(Update(f"- {' '.join(NAMES)} sing"), old)
    assert verdict.op == Append((f"{' '.join(NAMES)} sing",))
    assert judged(Update("- Ada, Bea and Cai sing"), old).repeats == ("Ada, Bea and Cai sing",)
