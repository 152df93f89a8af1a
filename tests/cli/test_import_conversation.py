"""A file is checked whole before its first message is sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from app.cli.import_conversation import ROLES, batches, read_lines
from app.domain.errors import InvalidInput
from tests.support.api import calling, result
from tests.support.house import house


def write(tmp_path, *records) -> object:
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records), encoding="utf-8")
    return file


def message(text: str = "hello", **more) -> dict:
    return {"role": "user", "content": text, **more}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{not json", "this is not JSON"),
        ("[1]", "an object in braces"),
        ('{"content": "x"}', "role is missing"),
        ('{"role": "user"}', "either content or parts"),
        ('{"role": "user", "content": "x", "parts": []}', "either content or parts"),
        ('{"role": "user", "content": "x", "session_id": 7}', "no session_id"),
        ('{"role": "oracle", "content": "x"}', "role must be one of user, assistant, system, tool"),
        ('{"role": ["user"], "content": "x"}', "role must be one of"),
        ('{"role": "user", "content": 7}', "content must be text"),
        ('{"role": "user", "parts": {}}', "parts must be a list of objects"),
        ('{"role": "user", "parts": ["x"]}', "parts must be a list of objects"),
        ('{"role": "user", "content": "x", "created_at": "yesterday"}', "created_at must be an ISO 8601 time"),
        ('{"role": "user", "content": "x", "created_at": 7}', "created_at must be an ISO 8601 time"),
        ('{"role": "user", "content": "half \\ud800"}', "half of a surrogate pair"),
        ('{"role": "user", "parts": [{"type": "tool", "n": NaN}]}', "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, bad, reason):
    with pytest.raises(InvalidInput, match=rf"line 3: .*{reason}"):
        read_lines(write(tmp_path, message(), message(), bad), "s" if "session_id" not in bad else None)


def test_all_bad_lines_are_named_at_once(tmp_path):
    with pytest.raises(InvalidInput, match=r"line 1: (.|\n)*line 3: "):
        read_lines(write(tmp_path, "nope", message(), "nope"), "s")


def test_many_bad_lines_are_counted(tmp_path):
    with pytest.raises(InvalidInput, match="and 15 more"):
        read_lines(write(tmp_path, *["nope"] * 25), "s")


def test_empty_lines_are_passed_over(tmp_path):
    assert [line.number for line in read_lines(write(tmp_path, message(), "", message()), "s")] == [1, 3]


def test_an_empty_file_is_an_error(tmp_path):
    with pytest.raises(InvalidInput, match="holds no messages"):
        read_lines(write(tmp_path, ""), "s")


def test_a_session_of_the_line_wins_over_the_option(tmp_path):
    lines = read_lines(write(tmp_path, message(), message(session_id="own")), "given")
    assert [line.session_id for line in lines] == ["given", "own"]
    assert all("session_id" not in line.message for line in lines)


def test_bytes_that_are_no_utf8_are_named_by_file_and_line(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_bytes(b'{"role": "user", "content": "a"}\n{"role": "user", "content": "caf\xe9"}\n')
    with pytest.raises(InvalidInput, match=r"talk\.jsonl was not imported:\n  line 2: this is not UTF-8"):
        read_lines(file, "s")


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_message(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_bytes('\ufeff{"role": "user", "content": "日本 🌍"}\r\n'.encode())
    [line] = read_lines(file, "s")
    assert line.message["content"] == "日本 🌍"


@pytest.mark.parametrize("role", ROLES)
def test_every_role_of_the_server_is_taken(tmp_path, role):
    [line] = read_lines(write(tmp_path, {"role": role, "parts": [{"type": "text", "text": "x"}], "content": None}), "s")
    assert line.message["role"] == role


def ids(tmp_path, *records, session: str = "s") -> list[str]:
    return [line.message["client_message_id"] for line in read_lines(write(tmp_path, *records), session)]


def test_a_message_keeps_its_id_whatever_happens_to_the_lines_around_it(tmp_path):
    before = ids(tmp_path, message("a"), message("wrnog"), message("a"), message("b"))
    after = ids(tmp_path, "", message("a"), message("right"), message("a"), message("b"), message("new"))
    assert [after[0], after[2], after[3]] == [before[0], before[2], before[3]]
    assert len({*before, *after}) == 6


def test_the_spelling_of_the_json_does_not_change_an_id(tmp_path):
    spelled = '{ "content":"caf\\u00e9",  "role": "user", "session_id": "s"}'
    assert ids(tmp_path, spelled) == ids(tmp_path, '{"role": "user", "content": "café", "client_message_id": null}')


def test_the_same_words_in_two_sessions_are_two_messages(tmp_path):
    assert len(set(ids(tmp_path, message("a"), message("a"), message("a", session_id="other")))) == 3


async def test_a_mended_file_imported_again_adds_the_mended_line_only(tmp_path, database_url):
    path = "/api/v1/sessions/s/messages/batch"

    async with house(database_url) as services, calling(services) as client:
        for records in (["a", "b", "a"], ["a", "mended", "a"]):
            lines = read_lines(write(tmp_path, *[message(text) for text in records]), "s")
            result(await client.post(path, json={"messages": [line.message for line in lines]}))
        assert result(await client.get("/api/v1/sessions/s"))["message_count"] == 4


def test_an_id_of_the_line_is_kept(tmp_path):
    [line] = read_lines(write(tmp_path, message(client_message_id="mine")), "s")
    assert line.message["client_message_id"] == "mine"


def test_batches_hold_one_session_in_order_and_at_most_a_hundred(tmp_path):
    records = [message(str(n), session_id="ab"[n % 2]) for n in range(450)]
    found = list(batches(read_lines(write(tmp_path, *records), None)))
    assert all(len({line.session_id for line in batch}) == 1 and len(batch) <= 100 for batch in found)
    for session in "ab":
        numbers = [line.number for batch in found for line in batch if line.session_id == session]
        assert numbers == sorted(numbers)
        assert len(numbers) == 225


def test_what_is_stored_already_is_said_when_the_server_refuses(tmp_path, cairn):
    """The address answers the first batch and refuses the second."""
    with answering([(200, {"status": "ok", "result": {}})] * 2 + [(400, REFUSED)]) as url:
        file = write(tmp_path, *[message(str(n)) for n in range(150)])
        refused = cairn("import", str(file), "--session", "s", "--url", url)
    assert refused.exit_code == 1
    assert "lines 101 to 150: no" in refused.stderr
    assert "100 of 150 messages are stored already" in refused.stderr


REFUSED = {"status": "error", "error": {"message": "no"}}


@contextmanager
def answering(replies: list[tuple[int, dict]]) -> Iterator[str]:
    """Yield the address of a server that gives these answers, one after the other."""
    waiting = iter(replies)

    class Replies(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = next(waiting)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Replies) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
