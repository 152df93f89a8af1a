"""Retention: what a commit leaves live, either the newest messages or whole turns within a budget of tokens."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.errors import InvalidInput
from app.domain.sessions import MAX_KEEP_RECENT

MAX_NUMBER: Final = 2_147_483_647


class RetentionMode(StrEnum):
    MESSAGE_COUNT = "message_count"
    TURN_BUDGET = "turn_budget"


@dataclass(frozen=True, slots=True)
class TurnRetention:
    """Keep whole turns: the newest keep_turns of them within token_budget, and of one that is too large alone its
    beginning and its newest steps, min_tail_steps of them whatever they cost."""

    keep_turns: int = 3
    token_budget: int = 12_000
    min_tail_steps: int = 1


@dataclass(frozen=True, slots=True)
class Retention:
    """What a commit leaves live, and what the session remembers: turns where it has them, else a number of messages."""

    keep_recent_count: int = 0
    turns: TurnRetention | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What a commit by turns left visible, in tokens, and whether that is more than was asked for; else 0 and False."""

    active_tokens: int = 0
    budget_exceeded: bool = False


def retention_of(
    *,
    keep_recent_count: int = 0,
    mode: str | None = None,
    keep_recent_turn_count: int | None = None,
    retained_message_token_budget: int | None = None,
    min_raw_tail_steps: int | None = None,
) -> Retention:
    """Return what a request asks to keep; fields of the turn budget that are left out have their defaults.

    Raises: InvalidInput for a number out of range, and for a field of the turn budget without its mode.
    """
    _in_range("keep_recent_count", keep_recent_count, 0, MAX_KEEP_RECENT)
    given = {
        "keep_recent_turn_count": keep_recent_turn_count,
        "retained_message_token_budget": retained_message_token_budget,
        "min_raw_tail_steps": min_raw_tail_steps,
    }
    if mode != RetentionMode.TURN_BUDGET:
        for name, value in given.items():
            if value is not None:
                raise InvalidInput(f'{name} needs retention_mode "turn_budget".', {"field": name})
        return Retention(keep_recent_count)
    for name, value in given.items():
        _in_range(name, value, 1 if name == "retained_message_token_budget" else 0, MAX_NUMBER)
    defaults = TurnRetention()
    return Retention(
        keep_recent_count,
        TurnRetention(
            _or(keep_recent_turn_count, defaults.keep_turns),
            _or(retained_message_token_budget, defaults.token_budget),
            _or(min_raw_tail_steps, defaults.min_tail_steps),
        ),
    )


def _in_range(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise InvalidInput(f"{name} must be between {least} and {most}.", {"field": name})


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
