"""What a commit is asked to do."""

from typing import Any

import pytest

from app.domain.commits import CommitOptions, check_memory_policy, metadata_of, normal_tags, remembers
from app.domain.errors import InvalidInput
from app.domain.retention import Retention, TurnRetention, retention_of


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["Project=Cairn"], ["project=cairn"]),
        (["a=1", "b=2", "a=3"], ["b=2", "a=3"]),
        ([" city = 京都 "], ["city=京都"]),
        (["no value", "=x", "x=", "a=b=c", "", "="], []),
    ],
)
def test_tags_are_one_value_per_key(given: list[str], kept: list[str]) -> None:
    assert normal_tags(given) == kept


SESSION = {"events": {"tags": ["team=blue"]}}


@pytest.mark.parametrize(
    ("asked", "session", "kept"),
    [
        (None, None, None),
        (None, SESSION, {"event": {"tags": ["team=blue"]}}),
        ({"event": {"tags": None}}, SESSION, {"event": {"tags": ["team=blue"]}}),
        ({"event": {"tags": []}}, SESSION, {"event": {"tags": []}}),
        ({"event": {"tags": ["A=1"]}}, SESSION, {"event": {"tags": ["a=1"]}}),
        ({"other": 1}, None, {"other": 1}),
        ({"other": 1, "event": {"more": 2}}, SESSION, {"other": 1, "event": {"more": 2, "tags": ["team=blue"]}}),
    ],
)
def test_an_archive_keeps_the_tags_of_its_commit_or_else_of_its_session(asked: Any, session: Any, kept: Any) -> None:
    assert metadata_of(CommitOptions(extraction_metadata=asked), session) == kept


@pytest.mark.parametrize("tags", ["a=1", [1], {}, [None]])
def test_tags_that_are_no_list_of_texts_are_refused(tags: Any) -> None:
    with pytest.raises(InvalidInput, match=r"extraction_metadata\.event\.tags"):
        CommitOptions(extraction_metadata={"event": {"tags": tags}})


@pytest.mark.parametrize(
    ("asked", "policy", "yes"),
    [
        (None, None, True),
        (None, {}, True),
        (None, {"working_memory": False}, False),
        (True, {"working_memory": False}, True),
        (False, {"working_memory": True}, False),
    ],
)
def test_an_archive_is_remembered_unless_the_commit_or_the_session_says_no(
    asked: bool | None, policy: dict[str, object] | None, yes: bool
) -> None:
    assert remembers(CommitOptions(working_memory=asked), policy) is yes


@pytest.mark.parametrize("value", [None, 0, "no", {}])
def test_a_memory_policy_says_yes_or_no(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"memory_policy\.working_memory"):
        check_memory_policy({"working_memory": value})


def test_a_turn_budget_has_defaults_of_its_own() -> None:
    assert retention_of(mode="turn_budget") == Retention(0, TurnRetention(3, 12_000, 1))
    assert retention_of(mode="turn_budget", keep_recent_turn_count=0).turns == TurnRetention(0, 12_000, 1)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"keep_recent_turn_count": 3}, "keep_recent_turn_count"),
        ({"mode": "message_count", "min_raw_tail_steps": 0}, "min_raw_tail_steps"),
        ({"mode": "turn_budget", "retained_message_token_budget": 0}, "retained_message_token_budget"),
        ({"mode": "turn_budget", "keep_recent_turn_count": -1}, "keep_recent_turn_count"),
        ({"keep_recent_count": 10_001}, "keep_recent_count"),
    ],
)
def test_a_retention_that_cannot_be_names_its_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        retention_of(**asked)
    assert refused.value.details["field"] == field
