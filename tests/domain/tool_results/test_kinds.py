import json

import pytest

from app.domain.tool_results.kinds import LARGEST_PARSED_CHARS, Kind, kind_of
from app.domain.tool_results.synopsis import synopsis

PYTHON = (
    "import os\nfrom pathlib import Path\n\nclass Tide:\n    def high(self):\n        return os.name\n\nx = 1\n" * 40
)
GO = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hi")\n}\n' * 40
YAML = "name: harbour\nports:\n  - 5433\n  - 5434\nowner: Ana\n# a remark\ndepth: 12\n" * 40
XML = '<?xml version="1.0"?>\n<feed>\n' + "<entry><title>潮汐</title></entry>\n" * 50 + "</feed>\n"
CSV = "port,time,height\n" + "Gdynia,06:30,3.1\n" * 80
ENGLISH = "The harbour master keeps a log, and reads it aloud. Nobody minds: it is short.\n\n" * 80
CHINESE = "第一章 港口\n今天天气很好，我们把潮汐表移到数据库里。下一步：检查端口。\n" * 80
JAPANESE = "本日の潮位を記録しました。次は、ポートを確認します。\n" * 80
BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 60


@pytest.mark.parametrize(
    ("text", "kind", "holds"),
    [
        (json.dumps({"items": [{"id": 1}] * 3, "next": None, "名": "x"}), Kind.JSON, "items (array of 3)"),
        (json.dumps([{"id": 1, "tag": "a"}] * 3), Kind.JSON, "array of 3, the first an object with id (number)"),
        ("\n".join(['{"level": "info"}'] * 5), Kind.JSON, "array of 5"),
        ("[" + "1," * LARGEST_PARSED_CHARS + "1]", Kind.JSON, "too long"),
        ("{not json}", Kind.TEXT, "1 lines"),
        (CSV, Kind.CSV, "columns: port, time, height"),
        (CSV.replace(",", "\t"), Kind.TSV, "about 81 rows; columns: port"),
        (XML, Kind.XML, "entry ×50"),
        (YAML, Kind.YAML, "keys: name, ports, owner, depth"),
        (PYTHON, Kind.CODE, "defines: Tide, high"),
        (GO, Kind.CODE, "imports: fmt"),
        (ENGLISH, Kind.TEXT, "160 lines"),
        ("# Tides\n" + ENGLISH, Kind.TEXT, "headings: Tides"),
        (CHINESE, Kind.TEXT, "headings: 第一章 港口"),
        (JAPANESE, Kind.TEXT, "80 lines"),
        (BASE64, Kind.BINARY, "not readable"),
        ("\x01\x02\ufffdELF" * 50, Kind.BINARY, "not readable"),
        ("", Kind.TEXT, ""),
    ],
)
def test_a_text_is_known_by_its_shape(text: str, kind: Kind, holds: str) -> None:
    assert kind_of(text) is kind
    assert holds in synopsis(text, kind)


def test_a_synopsis_stays_short_whatever_the_text_holds() -> None:
    wide = json.dumps({f"key {n} {'x' * 200}": n for n in range(500)})
    assert len(synopsis(wide, Kind.JSON)) < 2_000
    assert "and 480 more" in synopsis(wide, Kind.JSON)
