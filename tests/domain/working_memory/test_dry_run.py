"""The rules on plain data, for the command line."""

import json
from typing import Any

import pytest

from app.domain.working_memory.dry_run import dry_merge, dry_parse, dry_recover


def tokens(text: str) -> int:
    return len(text) // 4


DOCUMENT = "# Working Memory\n\n## Session Title\nFerry\n\n## Open Issues\n- a\n"


def test_a_merge_gives_the_document_the_decisions_and_what_waits() -> None:
    record = {
        "id": "one",
        "document": DOCUMENT,
        "sections": {"Open Issues": {"op": "UPDATE", "content": "- b"}, "Notes": {"op": "KEEP"}},
        "deferred": [{"section": "Key Facts and Decisions", "text": "launch in May", "reason": "throttled"}],
    }
    out: Any = dry_merge(record, tokens)
    assert out["id"] == "one"
    assert out["document"].endswith("## Open Issues\n- b\n- [restored] a\n")
    assert out["decisions"][6] == {
        "section": "Open Issues",
        "requested": "UPDATE",
        "applied": "UPDATE",
        "guard": "open_issues",
        "reason": "issues_restored",
    }
    assert out["deferred"] == [{"section": "Key Facts & Decisions", "text": "launch in May", "reason": "throttled"}]
    json.dumps(out).encode()


@pytest.mark.parametrize("document", [None, "", "no sections"])
@pytest.mark.parametrize("sections", [None, {}, "no json"])
def test_a_merge_of_nothing_gives_seven_empty_sections(document: Any, sections: Any) -> None:
    out: Any = dry_merge({"id": 1, "document": document, "sections": sections}, tokens)
    assert out["document"].count("\n## ") == 7
    assert len(out["decisions"]) == 7


def test_a_recovery_gives_operations_by_section() -> None:
    raw = '"Open Issues": {"op": "append", "items": ["a", "b'
    assert dry_recover({"id": 2, "raw": raw}) == {
        "id": 2,
        "sections": {"Open Issues": {"op": "APPEND", "items": ["a", "b"], "truncated": True}},
    }


def test_a_parse_gives_bodies_items_and_warnings() -> None:
    body = "\n".join(["- [⚠ CONSOLIDATION REQUIRED: x]", *["- a\n  more"] * 26])
    out = dry_parse({"id": 3, "document": f"## Open Issues\n- x\n## key facts & decisions\n{body}"}, tokens)
    assert out == {
        "id": 3,
        "sections": {"Open Issues": "- x", "Key Facts & Decisions": body},
        "items": {"Open Issues": ["x"], "Key Facts & Decisions": ["a\n  more"] * 26},
        "warnings": [{"section": "Key Facts & Decisions", "bullets": 26, "tokens": 71}],
    }


@pytest.mark.parametrize(
    "record",
    [
        None,
        7,
        [],
        "text",
        {"id": 1},
        {"id": 1, "document": 7, "sections": {}, "raw": 7},
        {"id": 1, "document": "", "sections": [], "raw": []},
        {"id": 1, "document": "", "sections": 7},
        {"id": 1, "document": "", "deferred": {}},
        {"id": 1, "document": "", "deferred": [7]},
        {"id": 1, "document": "", "deferred": [{"section": "Notes", "text": "x"}]},
        {"id": 1, "document": "", "deferred": [{"section": "Open Issues", "text": 7}]},
    ],
)
def test_a_bad_record_gives_its_id_and_an_error(record: Any) -> None:
    out = dry_merge(record, tokens)
    assert set(out) == {"id", "error"}
    assert out["id"] == (record["id"] if isinstance(record, dict) else None)


@pytest.mark.parametrize("record", [None, 7, {"id": 1}, {"id": 1, "document": 7, "raw": 7}])
def test_bad_records_do_not_stop_the_other_commands(record: Any) -> None:
    assert set(dry_recover(record)) == {"id", "error"}
    assert set(dry_parse(record, tokens)) == {"id", "error"}


def test_text_that_cannot_be_written_is_replaced() -> None:
    lone = "\ud800"
    out = dry_merge({"id": 1, "document": f"## Open Issues\n- {lone}", "sections": {}}, tokens)
    json.dumps(out, ensure_ascii=False).encode()
