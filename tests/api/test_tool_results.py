"""Large tool results over HTTP."""

import pytest

from tests.support.api import faults, refusal, result

SESSION = "/api/v1/sessions/talk"
LONG = "\n".join(f"line {n}: 潮汐 tide 🙂" for n in range(3_000))
METADATA = {
    "tool_result_id", "session_id", "message_id", "tool_id", "tool_name", "user_id", "peer_id", "created_at",
    "direction", "original_chars", "preview_chars", "sha256", "mime_type", "detected_kind", "synopsis", "storage_uri",
    "output_uri", "offset_unit",
}  # fmt: skip


@pytest.fixture
async def kept(client) -> str:
    """The address of a long output that a message shows by a preview."""
    part = {"type": "tool", "tool_id": "t1", "tool_name": "grep", "tool_output": LONG, "tool_status": "completed"}
    result(await client.post(f"{SESSION}/messages", json={"role": "user", "parts": [part], "peer_id": "main"}))
    context = result(await client.get(f"{SESSION}/context"))
    (shown,) = context["messages"][0]["parts"]
    prefix = "viking://session/talk/tool-results/"
    assert shown["tool_output_ref"].startswith(prefix)
    return f"{SESSION}/tool-results/{shown['tool_output_ref'].removeprefix(prefix)}"


async def test_a_message_with_a_long_output_says_where_the_rest_is(client, kept):
    context = result(await client.get(f"{SESSION}/context"))
    (part,) = context["messages"][0]["parts"]
    assert part["tool_output_ref"].rpartition("/")[2] in part["tool_output"]
    assert len(part["tool_output"]) <= 2_000
    assert (part["tool_output_truncated"], part["tool_output_original_chars"]) == (True, len(LONG))
    assert part["tool_output_preview_chars"] == len(part["tool_output"])
    assert context["estimatedTokens"] < 2_000


async def test_the_list_has_every_field_that_clients_read(client, kept):
    listed = result(await client.get(f"{SESSION}/tool-results"))
    (one,) = listed["tool_results"]
    assert (set(listed), set(one)) == ({"tool_results"}, METADATA)
    assert one["tool_result_id"] == kept.rpartition("/")[2]
    assert (one["session_id"], one["tool_id"], one["tool_name"], one["peer_id"]) == ("talk", "t1", "grep", "main")
    assert (one["original_chars"], one["offset_unit"]) == (len(LONG), "unicode_code_point")
    assert one["message_id"] == result(await client.get(f"{SESSION}/context"))["messages"][0]["id"]
    assert result(await client.get(f"{SESSION}/tool-results", params={"tool_name": "other"}))["tool_results"] == []


async def test_a_text_is_read_piece_by_piece(client, kept):
    read, offset, more = "", 0, True
    while more:
        piece = result(await client.get(kept, params={"offset": offset, "limit": 25_000, "include_metadata": False}))
        assert (piece["offset"], piece["limit"], piece["total_chars"]) == (offset, 25_000, len(LONG))
        assert "metadata" not in piece
        read, offset, more = read + piece["content"], offset + 25_000, piece["has_more"]
    assert read == LONG
    first = result(await client.get(kept))
    assert (first["content"], first["limit"]) == (LONG[:20_000], 20_000)
    assert set(first["metadata"]) == METADATA
    assert result(await client.get(kept, params={"limit": -1}))["content"] == LONG


async def test_a_text_is_searched(client, kept):
    found = result(await client.get(f"{kept}/search", params={"q": "tide", "context_chars": 2}))
    assert (set(found), len(found["matches"])) == ({"tool_result_id", "matches"}, 20)
    assert found["matches"][0] == {"offset": LONG.index("tide"), "offset_unit": "unicode_code_point",
                                   "snippet": "汐 tide 🙂"}  # fmt: skip
    for q, limit, count in (("line 12:", 5, 1), ("TIDE", 5, 0), ("l.ne", 5, 0), ("line", 3, 3)):
        found = result(await client.get(f"{kept}/search", params={"q": q, "limit": limit}))
        assert len(found["matches"]) == count


@pytest.mark.parametrize(
    ("rest", "parameter"),
    [
        ("?offset=-1", "offset"),
        ("?limit=-2", "limit"),
        ("?limit=x", "limit"),
        ("?offset=99999999999999999999", "offset"),
        ("/search", "q"),
        ("/search?q=", "q"),
        ("/search?q=x&limit=0", "limit"),
        ("/search?q=x&context_chars=-1", "context_chars"),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(client, kept, rest, parameter):
    assert faults(await client.get(f"{kept}{rest}")) == [f"query.{parameter}"]


async def test_what_is_not_there_is_not_found(client, kept):
    for path in (
        f"{SESSION}/tool-results/tr_none",
        f"{SESSION}/tool-results/石/search?q=x",
        "/api/v1/sessions/no/tool-results",
    ):
        assert refusal(await client.get(path))[:2] == (404, "NOT_FOUND")
