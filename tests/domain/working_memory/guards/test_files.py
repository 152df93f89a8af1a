"""Files and context: no reference disappears, no line comes twice."""

import pytest

from app.domain.working_memory.guards.files import guard_files
from app.domain.working_memory.guards.verdict import Reason
from app.domain.working_memory.operations import KEEP, Append, Update

OLD = "- tools/berths.py - importer\n- conf/fares.yaml - fare rules"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, "- conf/fares.yaml\n- tools/berths.py (renamed functions)"),
        (OLD, "- ./tools/berths.py - importer\n- conf\\fares.yaml"),
        (OLD, "```\ntools/berths.py\nconf/fares.yaml\n```"),
        ("- 修改了tools/berths.py文件", "- tools/berths.py 已重写"),
        ("- 設計書/料金表.xlsxを作成", "- 設計書/料金表.xlsx 完成"),
        ("- choose either/or billing", "- pay per hour, agreed"),
        ("- notes on the whiteboard", "- board sketch removed"),
        ("_Paths and what they are for._\nNone.", "- tools/x.py"),
    ],
)
def test_a_rewrite_with_every_reference_is_taken(old: str, new: str) -> None:
    assert guard_files(Update(new), old).op == Update(new)


@pytest.mark.parametrize(
    ("old", "new", "appended"),
    [
        pytest.param(OLD, "- tools/berths.py - importer", (), id="nothing new"),
        pytest.param(OLD, "- tools/tide.py - reader", ("tools/tide.py - reader",), id="other path"),
        pytest.param(OLD, "- zz/b.py\n- aa/a.py", ("zz/b.py", "aa/a.py"), id="order written"),
        pytest.param(OLD, "- aa/a.py and bb/b.py share code", ("aa/a.py and bb/b.py share code",), id="one line once"),
        pytest.param(
            OLD, "- my-aa/a.py one\n- aa/a.py two", ("my-aa/a.py one", "aa/a.py two"), id="names inside names"
        ),
        pytest.param(
            OLD,
            "- tools/berths.py - now reads CSV, owner Farid\n- office opens at 8",
            ("tools/berths.py - now reads CSV, owner Farid", "office opens at 8"),
            id="notes and annotations",
        ),
        pytest.param("- pkg/app.json", "- pkg/app.js", ("pkg/app.js",), id="longer extension"),
        pytest.param("- Pump.java\n- Dockerfile", "- Boat.java", ("Boat.java",), id="other languages"),
        pytest.param("- src/Pump.kt", "- src/Pump.hs", ("src/Pump.hs",), id="same stem"),
        pytest.param("- C:\\ctl\\main.py", "- D:\\ctl\\main.py kept", ("D:\\ctl\\main.py kept",), id="drive letter"),
        pytest.param("- D:\\plans\\winter.docx", "- plans moved", ("plans moved",), id="Windows document"),
        pytest.param("- ticket HBR-12", "- board removed", ("board removed",), id="ticket"),
        pytest.param("- https://x.example?day=3", "- links trimmed", ("links trimmed",), id="link"),
        pytest.param("- 图纸/泵房.md", "- 图纸已整理", ("图纸已整理",), id="Chinese path"),
    ],
)
def test_a_rewrite_that_loses_a_reference_only_adds(old: str, new: str, appended: tuple[str, ...]) -> None:
    verdict = guard_files(Update(new), old)
    assert verdict.op == (Append(appended) if appended else KEEP)
    assert verdict.reason is Reason.REFERENCES_LOST


def test_a_known_line_is_not_appended_again() -> None:
    assert guard_files(Append(("tools/berths.py - importer", "new.py")), OLD).op == Append(("new.py",))
