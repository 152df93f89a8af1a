"""What is too large for its message, and what the message shows instead."""

import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.messages import MessageRole, NewMessage, Part, body_sha256
from app.domain.tool_results.externalising import (
    Externalised,
    Reason,
    ToolResultLimits,
    externalise,
    reference,
    tool_result_id,
)
from app.domain.tool_results.preview import full_text, input_preview

LIMITS = ToolResultLimits()


def output(text: object, tool_id: str = "t1", **more: object) -> Part:
    return {"type": "tool", "tool_id": tool_id, "tool_name": "grep", "tool_status": "completed", "tool_output": text,
            **more}  # fmt: skip


def taken_out(*parts: Part, limits: ToolResultLimits = LIMITS, **known: str) -> Externalised:
    message = NewMessage(MessageRole.ASSISTANT, parts, client_message_id="c1")
    ids = {hashlib.sha256(text.encode()).digest(): identifier for text, identifier in known.items()}
    return externalise([message], limits, lambda identifier: reference("talk", identifier), ids)


def words(length: int, letter: str = "w") -> str:
    return ((letter * 79 + "\n") * (length // 80 + 1))[:length]


@pytest.mark.parametrize(
    ("sizes", "gone"),
    [
        ([20_000], []),
        ([20_001], [0]),
        ([19_999] * 4, []),
        ([20_000] * 5, [0]),
        ([19_000, 19_500, 18_000, 19_400, 19_300, 19_200], [1]),
        ([30_000, 19_000, 19_000, 19_000, 19_000, 19_000], [0]),
        ([30_000, 20_000, 20_000, 20_000, 20_000, 19_000], [0, 1]),
        ([900] * 200, []),
        ([1_500] * 67, []),
    ],
)
def test_a_text_leaves_for_its_own_size_or_for_that_of_all(sizes: list[int], gone: list[int]) -> None:
    result = taken_out(*(output(words(size, chr(97 + n % 26)), f"t{n}") for n, size in enumerate(sizes)))
    parts = result.messages[0].parts
    cut = [n for n, part in enumerate(parts) if "tool_output_ref" in part]
    assert len(cut) == len(gone)
    if len(set(sizes)) > 1:
        assert cut == gone
    for n in cut:
        assert parts[n]["tool_output_reason"] == (Reason.SINGLE_THRESHOLD if sizes[n] > 20_000 else Reason.TURN_BUDGET)


def test_a_preview_says_where_the_rest_is_and_shows_both_ends() -> None:
    text = "BEGIN " + words(30_000) + " 終わり"
    result = taken_out(output(text))
    (part,) = result.messages[0].parts
    (kept,) = result.results
    shown = part["tool_output"]
    assert part["tool_output_ref"] == f"viking://session/talk/tool-results/{kept.tool_result_id}"
    assert part["tool_output_ref"] in shown
    assert "BEGIN" in shown
    assert shown.endswith("終わり")
    assert 1_900 < len(shown) <= 2_000
    assert part["tool_output_truncated"] is True
    assert (part["tool_output_original_chars"], part["tool_output_preview_chars"]) == (len(text), len(shown))
    assert part["tool_output_sha256"] == hashlib.sha256(text.encode()).hexdigest() == kept.sha256.hex()
    assert part["tool_output_mime_type"] == "text/plain"
    assert (part["tool_id"], part["tool_name"], part["tool_status"]) == ("t1", "grep", "completed")
    assert (kept.content, kept.direction, kept.position) == (text, "output", 0)


def test_previews_of_one_message_share_their_room() -> None:
    for count, size in ((1, 2_000), (5, 2_000), (6, 1_666), (20, 1_000)):
        result = taken_out(*(output(words(21_000, chr(97 + n)), f"t{n}") for n in range(count)))
        assert max(len(part["tool_output"]) for part in result.messages[0].parts) in range(size - 20, size + 1)


def test_an_input_keeps_its_shape_and_its_short_values() -> None:
    given_input = {"path": "harbour/tides.py", "content": words(50_000), "mode": 420, "lines": ["a" * 900, "b"]}
    result = taken_out({"type": "tool", "tool_id": "w1", "tool_name": "write", "tool_input": given_input})
    shown = result.messages[0].parts[0]["tool_input"]
    assert shown["path"] == "harbour/tides.py"
    assert (shown["mode"], shown["lines"][1]) == (420, "b")
    assert len(full_text(shown)) <= 2_000
    assert result.messages[0].parts[0]["tool_input_ref"].endswith(result.results[0].tool_result_id)
    assert json.loads(result.results[0].content) == given_input


def test_an_input_that_cannot_be_cut_is_counted() -> None:
    numbers = list(range(10_000))
    assert input_preview({"n": numbers}, most=500) == {"[…]": len(full_text({"n": numbers}))}


def test_an_output_that_is_no_text_is_kept_as_json() -> None:
    rows = [{"港": "Gdynia", "n": n} for n in range(2_000)]
    result = taken_out(output(rows))
    assert json.loads(result.results[0].content) == rows
    assert "港" in result.results[0].content
    assert result.results[0].mime_type == "application/json"
    assert isinstance(result.messages[0].parts[0]["tool_output"], str)


def test_one_text_has_one_id_whichever_tool_gave_it() -> None:
    text = words(21_000)
    both = taken_out(output(text, "first"), output(text, "second"))
    assert len({kept.tool_result_id for kept in both.results}) == 1
    assert both.results[0].tool_result_id.startswith("tr_first_")
    known = taken_out(output(text, "third"), **{text: "tr_old"})
    assert [kept.tool_result_id for kept in known.results] == ["tr_old"]


@pytest.mark.parametrize(
    ("tool_id", "pattern"),
    [
        ("call-1.a", r"tr_call-1\.a_[0-9a-f]{16}"),
        ("", r"tr_[0-9a-f]{24}"),
        ("a/b c:潮", r"tr_a_b_c___[0-9a-f]{16}"),
        ("x" * 500, r"tr_x{96}_[0-9a-f]{16}"),
    ],
)
def test_an_id_can_stand_in_an_address(tool_id: str, pattern: str) -> None:
    assert re.fullmatch(pattern, tool_result_id(tool_id, hashlib.sha256(b"x").digest()))


def test_a_repeat_is_still_told_by_what_was_sent() -> None:
    sent = NewMessage(MessageRole.USER, (output(words(30_000)),), client_message_id="c1")
    (kept,) = externalise([sent], LIMITS, str).messages
    assert kept.parts != sent.parts
    assert kept.stored_hash == body_sha256(sent)


def test_what_is_small_stays_the_very_message() -> None:
    sent = NewMessage(MessageRole.USER, (output("wet"), {"type": "text", "text": words(90_000)}))
    result = externalise([sent], LIMITS, str)
    assert result.messages[0] is sent
    assert result.results == ()
    large = NewMessage(MessageRole.USER, (output(words(900_000)),))
    assert externalise([large], ToolResultLimits(threshold=0), str).messages[0] is large


@given(
    texts=st.lists(st.text(max_size=400), max_size=8),
    threshold=st.integers(1, 300),
    budget=st.integers(1, 1_000),
)
def test_nothing_is_lost_and_nothing_grows(texts: list[str], threshold: int, budget: int) -> None:
    limits = ToolResultLimits(threshold, preview_chars=120, inline_budget=budget, preview_budget=300, least_preview=60)
    parts = [output(text, f"t{n}") for n, text in enumerate(texts)]
    result = taken_out(*parts, limits=limits)
    kept = {one.tool_result_id: one.content for one in result.results}
    for before, after in zip(parts, result.messages[0].parts, strict=True):
        if "tool_output_ref" in after:
            assert kept[after["tool_output_ref"].rpartition("/")[2]] == before["tool_output"]
            assert len(after["tool_output"]) < len(before["tool_output"])
        else:
            assert after == before
