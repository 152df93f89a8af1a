"""A session: one conversation of one user, and the names people may give it."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.errors import Forbidden, InvalidInput

MAX_NAME_BYTES: Final = 1024
MAX_KEEP_RECENT: Final = 10_000
_FORBIDDEN: Final = re.compile(r"[/\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Session:
    """The row of a session. id is the key; name is what people call it and what clients send as session_id.

    anchor_seq: the archived message of a person whose turn goes on among the live messages.
    """

    id: int
    name: str
    last_seq: int
    last_tokens: int
    sealed_seq: int
    sealed_tokens: int
    archive_count: int
    keep_recent_count: int
    pending_tokens: int
    created_at: datetime
    last_message_at: datetime | None
    last_commit_at: datetime | None
    last_user_seq: int = 0
    anchor_seq: int | None = None
    retention_mode: str = "message_count"
    keep_recent_turn_count: int = 3
    retained_message_token_budget: int = 12_000
    min_raw_tail_steps: int = 1
    last_auto_commit_at: datetime | None = None
    memory_policy: Mapping[str, object] | None = None
    auto_commit_policy: Mapping[str, object] | None = None
    memory_extraction_config: Mapping[str, object] | None = None

    @property
    def live_count(self) -> int:
        """Return the number of messages that are in no archive yet."""
        return self.last_seq - self.sealed_seq

    @property
    def live_tokens(self) -> int:
        return self.last_tokens - self.sealed_tokens

    @property
    def updated_at(self) -> datetime:
        return max(filter(None, (self.created_at, self.last_message_at, self.last_commit_at)))


@dataclass(frozen=True, slots=True)
class ConfigChanges:
    """What is to change of a session; None: nothing of it.

    auto_commit_policy: the fields that change. auto_commit_off: the session no longer commits itself.
    """

    auto_commit_policy: Mapping[str, object] | None = None
    auto_commit_off: bool = False
    memory_extraction_config: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class SpentTokens:
    """Tokens that models used for one session, as their services counted them."""

    prompt: int = 0
    completion: int = 0


def new_session_name(now: datetime) -> str:
    """Return a fresh name in the form clients know: date, time and sixteen hexadecimal digits."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(8)}"


def check_session_name(name: str) -> str:
    """Return the name, or raise.

    Raises: Forbidden for a name that climbs out of its folder in a URI, InvalidInput for one that cannot stand in one.
    """
    if ".." in name:
        raise Forbidden("A session id must not contain '..'.", {"field": "session_id"})
    if not name.strip() or _FORBIDDEN.search(name):
        raise InvalidInput(
            "Invalid session_id: it must not be empty and must not contain slashes or control characters.",
            {"field": "session_id"},
        )
    if len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidInput(f"Invalid session_id: longer than {MAX_NAME_BYTES} bytes.", {"field": "session_id"})
    return name
