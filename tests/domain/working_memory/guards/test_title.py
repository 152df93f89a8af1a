"""A title stays with its subject, in every script."""

import pytest

from app.domain.working_memory.guards.title import guard_title, title_words
from app.domain.working_memory.guards.verdict import Reason
from app.domain.working_memory.operations import KEEP, Append, Update


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Harbour ferry timetable", "FERRY fares"),
        ("Fix tokenizer.", "Repair tokenizer"),
        ("Deployments of cranes", "A crane"),
        ("Supplies list", "Winter supply"),
        ("Go CI runner", "Go CI"),
        ("Release v2.1 blockers", "Migrate to v2.1"),
        ("real-time board", "Board in real time"),
        ("The Session Plan and Notes", "Glider cable"),
        ("2031", "Glider cable"),
        ("---", "Glider cable"),
        ("部署 Kubernetes 集群", "集群扩容与监控告警"),
        ("修复登录页面.", "修复登录页面与注册"),
        ("料金表の改訂", "冬の料金表"),
        ("ログイン画面の修正", "ログイン不具合"),
        ("おにぎりの作り方", "おにぎりの具"),
        ("Ремонт мельницы", "Ремонт крыши мельницы"),
        ("회의록 정리", "회의 준비"),
        ("_A short label for the talk._", "Glider cable"),
    ],
)
def test_a_related_title_is_taken(old: str, new: str) -> None:
    assert guard_title(Update(new), old).op == Update(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Harbour ferry timetable", "Weekend camping list"),
        ("Budget review 2031", "Holiday album 2031"),
        ("Fix tokenizer.", "Paint the fence."),
        ("AI QA", "Go CI fix"),
        ("The plan of Ingrid", "The plan of Tomasz"),
        ("茶园灌溉控制器改造", "周末露营清单"),
        ("2031年 预算", "2031年 相册"),
        ("猫の写真について", "犬の散歩について"),
        ("料金の改訂", "天気の予報"),
        ("Ремонт мельницы", "Планы на осень"),
        ("_A short label for the talk._\nHarbour ferry", "_A short label for the talk._\nGlider cable"),
        ("Harbour ferry", "None."),
    ],
)
def test_a_title_about_something_else_is_refused(old: str, new: str) -> None:
    verdict = guard_title(Update(new), old)
    assert (verdict.op, verdict.reason) == (KEEP, Reason.NO_COMMON_WORD)


def test_a_title_takes_no_second_line() -> None:
    assert guard_title(Append(("phase two",)), "Harbour ferry").op == KEEP


def test_the_first_item_becomes_the_missing_title() -> None:
    assert guard_title(Append(("Glider cable\nmore", "x")), "").op == Update("Glider cable")


def test_title_words_are_words_versions_and_character_pairs() -> None:
    assert title_words("Fix CI of v2.1 in 2031 for 泵房改造") == {"fix", "ci", "v2.1", "泵房", "房改", "改造"}
