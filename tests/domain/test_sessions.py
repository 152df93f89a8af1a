from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.errors import Forbidden, InvalidInput
from app.domain.sessions import MAX_NAME_BYTES, Session, check_session_name, new_session_name

MONDAY, TUESDAY, WEDNESDAY = (datetime(2031, 6, day, tzinfo=UTC) for day in (2, 3, 4))
SESSION = Session(
    id=1, name="talk", last_seq=10, last_tokens=100, sealed_seq=4, sealed_tokens=30, archive_count=1,
    keep_recent_count=2, pending_tokens=50, created_at=MONDAY, last_message_at=None, last_commit_at=None,
)  # fmt: skip


def test_what_is_live_is_what_is_not_sealed() -> None:
    assert (SESSION.live_count, SESSION.live_tokens) == (6, 70)


def test_a_session_was_updated_when_something_last_happened_to_it() -> None:
    assert SESSION.updated_at == MONDAY
    assert replace(SESSION, last_message_at=TUESDAY).updated_at == TUESDAY
    assert replace(SESSION, last_message_at=TUESDAY, last_commit_at=WEDNESDAY).updated_at == WEDNESDAY


@pytest.mark.parametrize(
    "name", ["talk", "一会話", "a b", ".", "x" * MAX_NAME_BYTES, "ü" * (MAX_NAME_BYTES // 2), "%2e"]
)
def test_a_session_may_have_any_name_that_can_stand_in_an_address(name: str) -> None:
    assert check_session_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "\t", "a/b", "a\\b", "a\x00b", "a\nb", "\x7f", "x" * (MAX_NAME_BYTES + 1), "ü" * MAX_NAME_BYTES]
)
def test_a_name_that_cannot_is_refused_by_its_field(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_session_name(name)
    assert refused.value.details == {"field": "session_id"}


@pytest.mark.parametrize("name", ["..", "../other", "a..b"])
def test_a_name_that_climbs_is_forbidden(name: str) -> None:
    with pytest.raises(Forbidden):
        check_session_name(name)


def test_fresh_names_are_valid_and_unlike_each_other() -> None:
    names = {new_session_name(MONDAY) for _ in range(50)}
    assert len(names) == 50
    for name in names:
        assert check_session_name(name).startswith("20310602-000000-")
