"""A session directory of OpenViking becomes a session with the same ranges, or is refused by file and line."""

import json
from pathlib import Path

import httpx
import pytest

from app.cli.openviking import lines_of, read_session, session_folders
from app.domain.errors import InvalidInput
from tests.support.api import calling, result
from tests.support.house import house
from tests.support.openviking import FAILED, LEGACY, OVERVIEW, done, message, write_session

SESSIONS = "/api/v1/sessions"
ODD = "line\u2028end\u0085 日本 🌍"


@pytest.fixture
async def client(database_url: str):
    async with house(database_url) as services, calling(services) as connected:
        yield connected


async def bring_in(client: httpx.AsyncClient, folder: Path) -> None:
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines_of(read_session(folder)))
    result(await client.post(f"{SESSIONS}/{folder.name}/import", content=lines))


async def test_archives_keep_their_ranges_and_documents_and_live_messages_stay_live(client, tmp_path):
    said = [message(text) for text in ("a", ODD, "c", "d", "e")]
    folder = write_session(tmp_path / "talk", [(said[:2], done()), (said[2:3], FAILED), (said[3:4], {})], live=said[4:])
    await bring_in(client, folder)
    archives = result(await client.get(f"{SESSIONS}/talk/archives"))
    assert [(a["first_seq"], a["last_seq"], a["status"], a["trigger"]) for a in archives] == [
        (1, 2, "completed", "import"),
        (3, 3, "failed", "import"),
        (4, 4, "pending", "import"),
    ]
    first = result(await client.get(f"{SESSIONS}/talk/archives/archive_001"))
    assert (first["overview"], first["abstract"]) == (OVERVIEW + "\n", "the abstract")
    shown = [{**one, "parts": [{"type": "text", "text": one["parts"][0]["text"]}]} for one in first["messages"]]
    assert shown == said[:2]
    context = result(await client.get(f"{SESSIONS}/talk/context"))
    assert context["latest_archive_overview"] == OVERVIEW + "\n"
    assert [one["id"] for one in context["messages"]] == [one["id"] for one in said[2:]]


async def test_an_overview_without_sections_is_served_as_it_is(client, tmp_path):
    folder = write_session(tmp_path / "talk", [([message("a")], done(LEGACY))], live=[message("b")])
    await bring_in(client, folder)
    context = result(await client.get(f"{SESSIONS}/talk/context"))
    assert context["latest_archive_overview"] == LEGACY
    assert len(context["messages"]) == 1


async def test_a_message_that_a_crash_left_in_two_places_is_kept_once(client, tmp_path):
    said = [message("a"), message("b"), message("c")]
    folder = write_session(tmp_path / "talk", [(said[:2], {})], live=said)
    assert read_session(folder).dropped == 2
    await bring_in(client, folder)
    details = result(await client.get(f"{SESSIONS}/talk"))
    assert (details["total_message_count"], details["message_count"]) == (3, 1)


async def test_large_outputs_and_the_window_come_along(client, tmp_path):
    tool = {"type": "tool", "tool_id": "call_1", "tool_name": "read", "tool_status": "completed", "tool_output": "the"}
    folder = write_session(tmp_path / "talk", live=[message("a"), message("b", parts=[tool])])
    (folder / "tool-results" / "tr_call_1_0123456789abcdef").mkdir(parents=True)
    (folder / "tool-results" / "tr_call_1_0123456789abcdef" / "output.txt").write_text("the whole output")
    (folder / ".meta.json").write_text('{"keep_recent_count": 1, "message_count": 99}')
    lines = list(lines_of(read_session(folder)))
    assert [line["type"] for line in lines] == ["session", "message", "message", "tool_result", "end"]
    assert (lines[0]["keep_recent_count"], lines[3]["seq"], lines[3]["content"]) == (1, 2, "the whole output")
    await bring_in(client, folder)
    assert result(await client.get(f"{SESSIONS}/talk"))["keep_recent_count"] == 1


STATES = {
    "done wins over failed": (done() | FAILED, "applied"),
    "failed": (FAILED, "failed"),
    "neither": ({".overview.md": OVERVIEW}, "open"),
    "done without an overview": ({".done": ""}, "failed"),
    "done, and none was asked for": ({".done": '{"working_memory_enabled": false}'}, "off"),
}


@pytest.mark.parametrize(("files", "state"), STATES.values(), ids=STATES)
def test_the_markers_say_what_an_archive_came_to(tmp_path, files, state):
    (archive,) = read_session(write_session(tmp_path / "talk", [([message("a")], files)])).archives
    assert archive.state == state


BROKEN = {
    "no json": '{"role": "user", "parts": [',
    "no object": "[]",
    "a role nobody has": '{"role": "oracle", "parts": []}',
    "no parts": '{"role": "user"}',
    "parts of text": '{"role": "user", "parts": ["a"]}',
    "half a character": '{"role": "user", "content": "\\ud800"}',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_named_by_file_and_line(tmp_path, line):
    folder = write_session(tmp_path / "talk", [([message("a")], done())], live=[message("b")])
    file = folder / "history" / "archive_001" / "messages.jsonl"
    file.write_text(file.read_text() + line + "\n")
    (folder / "messages.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(InvalidInput) as refused:
        read_session(folder)
    assert "history/archive_001/messages.jsonl, line 2: " in refused.value.message
    assert "\n  messages.jsonl, line 1: this is not UTF-8" in refused.value.message


@pytest.mark.parametrize(
    "place", ["history/archive_001/.overview.md", "history/archive_001/.abstract.md", "tool-results/tr_a_1/output.txt"]
)
def test_a_text_that_is_no_utf8_is_named_by_file_and_line(tmp_path, place):
    folder = write_session(tmp_path / "talk", [([message("a")], done())], live=[message("b")])
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_bytes(b"first\ncaf\xe9\n")
    with pytest.raises(InvalidInput) as refused:
        read_session(folder)
    assert f"{place}, line 2: this is not UTF-8" in refused.value.message


def test_a_byte_order_mark_is_no_part_of_a_message(tmp_path):
    folder = write_session(tmp_path / "talk", live=[message("a")])
    file = folder / "messages.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert len(read_session(folder).live) == 1


def test_an_archive_without_messages_is_left_out_unless_it_knows_something(tmp_path):
    empty = write_session(tmp_path / "a", [([], FAILED), ([message("b")], done())])
    assert [archive.folder for archive in read_session(empty).archives] == ["archive_002"]
    with pytest.raises(InvalidInput, match="archive_001"):
        read_session(write_session(tmp_path / "b", [([], done())]))


def test_sessions_are_found_in_the_folder_itself_below_it_and_below_sessions(tmp_path):
    one = write_session(tmp_path / "ann" / "sessions" / "one", live=[message("a")])
    two = write_session(tmp_path / "ann" / "sessions" / "two", live=[message("b")])
    assert session_folders(one) == [one]
    assert session_folders(tmp_path / "ann" / "sessions") == [one, two]
    assert session_folders(tmp_path / "ann") == [one, two]
    assert session_folders(tmp_path) == []
