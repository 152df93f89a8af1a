"""Paths, links and tickets, and nothing that only looks like one."""

import pytest

from app.domain.working_memory.references import comparable_references, find_references


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("tools/berths.py, conf/fares.yaml.", ["tools/berths.py", "conf/fares.yaml"]),
        (
            "config.json App.tsx View.jsx lab.ipynb Main.java",
            ["config.json", "App.tsx", "View.jsx", "lab.ipynb", "Main.java"],
        ),
        ("src/Pump.kt and src/Pump.unknownext", ["src/Pump.kt", "src/Pump.unknownext"]),
        ("Dockerfile, Makefile and .env", ["Dockerfile", "Makefile", ".env"]),
        ("/etc/nginx/nginx.conf ./run.sh ../up/x.py", ["/etc/nginx/nginx.conf", "./run.sh", "../up/x.py"]),
        ("C:\\ctl\\main.py D:\\plans\\winter.docx", ["C:\\ctl\\main.py", "D:\\plans\\winter.docx"]),
        ("\\\\nas01\\share\\plan.md", ["\\\\nas01\\share\\plan.md"]),
        ("see `My Charts/winter plan v2.md`", ["My Charts/winter plan v2.md"]),
        ("[plan](docs/My Plan.md) [site](https://x.example/a)", ["docs/My Plan.md", "https://x.example/a"]),
        ("`python tools/x.py --all`", ["tools/x.py"]),
        ("src/2031/winter and src/api/handlers", ["src/2031/winter", "src/api/handlers"]),
        ("文档/方案.md 图纸v2/泵房.py", ["文档/方案.md", "图纸v2/泵房.py"]),
        ("修改了tools/a.py和tools/b.py文件", ["tools/a.py", "tools/b.py"]),
        ("設計書/料金表.xlsxを更新、tools/fare.pyの修正", ["設計書/料金表.xlsx", "tools/fare.py"]),
        ("见https://tides.example/a?b=1。", ["https://tides.example/a?b=1"]),
        ("(https://tides.example/x), <s3://bucket/key>", ["https://tides.example/x", "s3://bucket/key"]),
        ("HBR-12 and #482, not UTF-8 or SHA-256", ["HBR-12", "#482"]),
        ("issue GH#12, 工单#7和HBR-9已关闭", ["#12", "#7", "HBR-9"]),
        ("api/users, src/main and docs/setup", ["api/users", "src/main", "docs/setup"]),
        ("web.config, server.key and makefile", ["web.config", "server.key", "makefile"]),
        ("either/or, client/server, TCP/IP, km/h, 1/2, 24/7, 是/否", []),
        ("and 2031/04/02 or 3.14 or v1.2, e.g. U.S. a.m.", []),
        ("docs/ alone", []),
        ("", []),
    ],
)
def test_references_are_found_as_written(text: str, references: list[str]) -> None:
    assert find_references(text) == references


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("./tools/x.py", "tools/x.py"),
        ("tools\\sub\\x.py", "tools/sub/x.py"),
        ("`tools/x.py`", "tools//x.py"),
        ("https://x.example/a/", "https://x.example/a"),
    ],
)
def test_spellings_of_one_path_are_equal(one: str, two: str) -> None:
    assert comparable_references(one) == comparable_references(two) != frozenset()


@pytest.mark.parametrize(("one", "two"), [("x/A.py", "x/a.py"), ("a.json", "a.js"), ("C:\\x.py", "D:\\x.py")])
def test_different_paths_are_not_equal(one: str, two: str) -> None:
    assert comparable_references(one) != comparable_references(two)
