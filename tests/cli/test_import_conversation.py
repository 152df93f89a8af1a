"""A file is checked whole before its first message is sent."""

import json

import pytest

from app.cli.import_conversation import batches, read_lines
from app.domain.errors import InvalidInput


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


def test_the_same_line_of_the_same_file_has_the_same_id_and_others_do_not(tmp_path):
    def ids(*records):
        return [line.message["client_message_id"] for line in read_lines(write(tmp_path, *records), "s")]

    first = ids(message("a"), message("a"))
    assert first == ids(message("a"), message("a"))
    assert len({*first, *ids(message("b"), message("a"))}) == 4


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
