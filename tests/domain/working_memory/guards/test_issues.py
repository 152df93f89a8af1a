"""Open issues are restored once, resolved for good, and never gone in silence."""

import pytest

from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.guards.issues import RESTORED, guard_issues
from app.domain.working_memory.operations import KEEP, Append, SectionOp, Update
from app.domain.working_memory.resolution import is_settled
from app.domain.working_memory.sections import Section

OLD = "- Fare table rounds up wrongly\n- 泵房漏水待查\n- ログイン画面が固まる"


def after(old: str, new: str) -> str:
    op = guard_issues(Update(new), old, ()).op
    assert isinstance(op, Update)
    return op.content


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(OLD, OLD, id="unchanged"),
        pytest.param(
            OLD, "1. FARE TABLE rounds up  wrongly!\n2. **泵房漏水待查**\n3. ログイン画面が固まる。", id="other dress"
        ),
        pytest.param(
            OLD,
            "- Fare table rounds up wrongly (seen again)\n- 泵房漏水待查：周五\n- ログイン画面が固まる件",
            id="longer",
        ),
        pytest.param("- crane brake squeals", "- brake of the crane squeals loudly", id="all words in other order"),
        pytest.param(
            "- Fare table rounds up wrongly", "- [resolved] rounding bug in fares", id="resolved in other words"
        ),
        pytest.param("- 泵房漏水待查", "- 泵房漏水：已解决", id="resolved in Chinese"),
        pytest.param("- ログイン画面が固まる", "- ログイン画面の件（解決済み）", id="resolved in Japanese"),
        pytest.param("- pump leaks badly", "- ~~pump leaks~~", id="struck"),
        pytest.param("- pump leaks badly", "- ✅ leaks of pump", id="ticked"),
        pytest.param("- [resolved] pump leaks\n- a", "- a", id="a resolved one may go"),
        pytest.param("_What is open._\n- a", "- a", id="hint"),
        pytest.param("None.", "- a", id="filler"),
        pytest.param("- a\n- A.", "- a", id="the same twice"),
    ],
)
def test_what_is_kept_or_resolved_is_not_restored(old: str, new: str) -> None:
    assert after(old, new) == new


@pytest.mark.parametrize(
    ("old", "new", "restored"),
    [
        pytest.param("- a b\n- c d\n- z", "- z", "- {0} a b\n- {0} c d", id="in old order"),
        pytest.param(
            "- Fix login\n- Fix login page colours", "- Fix login page colours", "- {0} Fix login", id="short in long"
        ),
        pytest.param(
            "- timeout on node one\n- timeout on node two",
            "- timeout on node one",
            "- {0} timeout on node two",
            id="same start",
        ),
        pytest.param(
            "- tide gauge\n  - needs 12 V\n  - ask Farid",
            "- tide gauge",
            "- {0} tide gauge\n  - needs 12 V\n  - ask Farid",
            id="details",
        ),
        pytest.param("- log:\n```\nx.c:41\n```\n- z", "- z", "- {0} log:\n```\nx.c:41\n```", id="fence"),
        pytest.param("```\nx.c:41\n```\n- z", "- z", "- {0}\n```\nx.c:41\n```", id="fence alone"),
        pytest.param("#482 still crashes\n- z", "- z", "- {0} #482 still crashes", id="ticket"),
        pytest.param(
            "- pump leaks\n- door squeaks",
            "- [resolved] pump leaks",
            "- {0} door squeaks",
            id="one resolution, one issue",
        ),
        pytest.param(
            "- pump leaks badly", "- is the pump done?", "- {0} pump leaks badly", id="a question resolves nothing"
        ),
        pytest.param("- 泵房漏水待查", "- 茶园", "- {0} 泵房漏水待查", id="Chinese"),
        pytest.param("- 未完了の移行", "- 天気", "- {0} 未完了の移行", id="not completed"),
    ],
)
def test_what_a_rewrite_leaves_out_is_restored(old: str, new: str, restored: str) -> None:
    assert after(old, new) == f"{new}\n{restored.format(RESTORED)}"


def test_an_issue_left_out_a_second_time_is_deferred() -> None:
    verdict = guard_issues(Update("- z"), f"- {RESTORED} stale\n  - detail\n- z", ())
    assert verdict.op == Update("- z")
    assert verdict.deferred == (DeferredItem(Section.OPEN_ISSUES, "stale\n  - detail", DeferralReason.DROPPED_TWICE),)


@pytest.mark.parametrize("kept", [f"- {RESTORED} stale", "- stale", "- Stale!"])
def test_the_marker_may_stay_or_go(kept: str) -> None:
    verdict = guard_issues(Update(kept), f"- {RESTORED} stale", ())
    assert (verdict.op, verdict.deferred) == (Update(kept), ())


@pytest.mark.parametrize("op", [Update("- [resolved] stale pump valve"), Append(("stale pump valve: fixed",))])
def test_a_resolution_settles_a_deferred_issue(op: Update | Append) -> None:
    waiting = DeferredItem(Section.OPEN_ISSUES, "stale pump valve", DeferralReason.DROPPED_TWICE)
    assert guard_issues(op, "None.", (waiting,)).settled == (waiting,)


@pytest.mark.parametrize(
    ("items", "op"),
    [
        (("new one", "fare table rounds up wrongly"), Append(("new one",))),
        (("stale",), KEEP),
        (("x", "X"), Append(("x",))),
    ],
)
def test_known_issues_are_not_appended_again(items: tuple[str, ...], op: SectionOp) -> None:
    assert guard_issues(Append(items), f"{OLD}\n- {RESTORED} stale", ()).op == op


@pytest.mark.parametrize(
    "line",
    [
        "[resolved] x", "(done) x", "**Resolved** x", "Fixed: x", "x (fixed in v2)", "x - done",
        "x: closed.", "✅ x", "[x] x",
        "~~x~~", "已解决：x", "x（已修复）", "x 已完成。", "解決済み：x", "x（対応済み）", "x、完了", "【完了】x",
    ],
)  # fmt: skip
def test_a_tagged_line_is_settled(line: str) -> None:
    assert is_settled(line)


@pytest.mark.parametrize(
    "line",
    [
        "Fixed income report pending", "x is not done yet", "what is closed?",
        "undone work", "done by whom (done by Friday)",
        "尚未解决", "移行が未完了", "是否已解决？", "the door closed loudly", "resolve the conflict",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_tag_settle_nothing(line: str) -> None:
    assert not is_settled(line)
