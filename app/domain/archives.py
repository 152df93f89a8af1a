"""Archives: closed runs of messages, where a run may be cut, and what sealing one came to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from app.domain.retention import Kept

_ARCHIVE_ID: Final = re.compile(r"archive_(\d{3,9})", re.ASCII)


class StepOutcome(StrEnum):
    """What a step of an archive came to. The last four are failures that can be tried again."""

    OPEN = "open"
    OFF = "off"
    APPLIED = "applied"
    NOTHING_TO_REMEMBER = "nothing_to_remember"
    PARTIAL = "partial"
    COVERED = "covered"
    DISCARDED = "discarded"
    UNUSABLE = "unusable"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SkipReason(StrEnum):
    """Why a commit archived nothing."""

    NO_MESSAGES = "no_messages"
    ALL_WITHIN_KEEP_WINDOW = "all_within_keep_window"


@dataclass(frozen=True, slots=True)
class Archive:
    """The row of an archive. status and outcome are computed by the database from the steps."""

    session_id: int
    archive_no: int
    task_id: UUID
    first_seq: int
    last_seq: int
    tokens: int
    trigger: str
    status: str
    outcome: str | None
    working_memory: StepOutcome
    long_term_memory: StepOutcome
    embedding: str
    abstract: str
    has_document: bool
    document_revision: int
    document_source: str | None
    document_provider: str | None
    covers_from_seq: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def archive_id(self) -> str:
        return archive_id(self.archive_no)

    @property
    def message_count(self) -> int:
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class Sealed:
    """A commit that archived messages; task_id names the work that follows."""

    archive_no: int
    task_id: UUID
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A commit that had nothing to archive; the new window is remembered all the same."""

    reason: SkipReason
    kept: Kept = field(default_factory=Kept)


SealResult: TypeAlias = Sealed | Skipped


@dataclass(frozen=True, slots=True)
class ToolPair:
    """Where a tool call and its result stand; result_seq is None while the answer is still awaited."""

    call_seq: int
    result_seq: int | None

    def is_torn_by(self, cut: int) -> bool:
        """Return whether archiving up to `cut` would part the call from its result."""
        return self.call_seq <= cut and (self.result_seq is None or self.result_seq > cut)


def archive_id(archive_no: int) -> str:
    """Return the id clients know, archive_001 onwards."""
    return f"archive_{archive_no:03d}"


def parse_archive_id(text: str) -> int | None:
    """Return the number in an archive id, None for anything that is not exactly one."""
    match = _ARCHIVE_ID.fullmatch(text)
    number = int(match[1]) if match else 0
    return number if number > 0 and archive_id(number) == text else None


def plan_cut(*, sealed_seq: int, wanted: int, pairs: Sequence[ToolPair]) -> int:
    """Return the seq of the last message to archive; sealed_seq or less means none.

    wanted: the cut that the retention asks for. A cut never falls between a tool call and its result: it moves back in
    front of the call, so what was to stay stays. pairs are those the cut could tear, directly or by moving; one whose
    call is sealed already holds nothing.
    """
    cut = max(wanted, sealed_seq)
    live = [pair for pair in pairs if pair.call_seq > sealed_seq]
    while torn := [pair.call_seq for pair in live if pair.is_torn_by(cut)]:
        cut = min(torn) - 1
    return max(cut, sealed_seq)


def skip_reason(*, live_count: int) -> SkipReason:
    return SkipReason.NO_MESSAGES if live_count == 0 else SkipReason.ALL_WITHIN_KEEP_WINDOW
