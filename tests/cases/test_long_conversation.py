"""Nineteen dated sessions through a whole server: nothing lost, nothing doubled, every counter exact."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.dated_conversation import Player, read_sessions
from tests.support.handed_data import NEEDS_TEST_DATA
from tests.support.served import serving

LIMIT_SECONDS = 60
CONVERSATION = ("data", "locomo", "26.json")

pytestmark = pytest.mark.cases


@pytest.fixture
def conversation() -> Path:
    path = Path(os.environ.get("CAIRN_TEST_DATA", ""), *CONVERSATION)
    if not path.is_file():
        pytest.skip(NEEDS_TEST_DATA)
    return path


@pytest.mark.timeout(300)
def test_a_long_conversation_is_archived_whole_and_in_order(conversation: Path, tmp_path: Path) -> None:
    sessions = read_sessions(conversation)
    said = [message.text for messages in sessions for message in messages]
    assert (len(sessions), len(said)) == (19, 419)
    with serving(tmp_path / "home") as server, closing(Player(server.url)) as player:
        played = player.play(sessions)
    print(played.figures)
    assert played.differences == []
    assert played.archived + played.live == said
    assert [(a["status"], a["outcome"]) for a in played.archives] == [("completed", "applied")] * 19
    assert [a["first_seq"] for a in played.archives] == [1, *(a["last_seq"] + 1 for a in played.archives[:-1])]
    assert played.sections == 7
    assert played.seconds < LIMIT_SECONDS
