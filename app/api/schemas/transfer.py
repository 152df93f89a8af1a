"""The lines of an exported session, one JSON object each."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import BeforeValidator, ConfigDict, Discriminator, StringConstraints, TypeAdapter

from app.api.schemas.fields import Body, IsoTime, parse_time
from app.api.schemas.messages import AddMessage
from app.api.schemas.sessions import AutoCommitPolicy
from app.domain.archives import StepOutcome
from app.domain.retention import Retention, TurnRetention
from app.domain.sessions import MAX_KEEP_RECENT
from app.domain.transfer import (
    End,
    Head,
    MovedArchive,
    MovedDocument,
    MovedItem,
    MovedMessage,
    MovedSection,
    MovedToolResult,
    Record,
)
from app.domain.working_memory.sections import Section

_Number: TypeAlias = Annotated[int, Ge(0), Le(2**62)]
_Place: TypeAlias = Annotated[int, Ge(1), Le(2**62)]
_ArchiveNo: TypeAlias = Annotated[int, Ge(1), Le(2**31 - 1)]
_Small: TypeAlias = Annotated[int, Ge(0), Le(2**31 - 1)]
_Name: TypeAlias = Annotated[str, StringConstraints(max_length=1024)]
_Section: TypeAlias = Annotated[Section, BeforeValidator(Section)]
_Outcome: TypeAlias = Annotated[StepOutcome, BeforeValidator(StepOutcome)]
_Sha256: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Line(Body):
    """What a later version adds is passed over: it can only be more to show."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


def _moment(text: str | None) -> datetime | None:
    return parse_time(text) if text is not None else None


class TurnsLine(_Line):
    """How a session that keeps whole turns does so."""

    keep_turns: _Small
    token_budget: Annotated[int, Ge(1), Le(2**31 - 1)]
    min_tail_steps: _Small

    def retention(self) -> TurnRetention:
        return TurnRetention(self.keep_turns, self.token_budget, self.min_tail_steps)


class SessionLine(_Line):
    """The first line."""

    type: Literal["session"]
    format: Literal["cairn-session"]
    version: Literal[1]
    session_id: _Name = ""
    created_at: IsoTime
    last_message_at: IsoTime | None = None
    last_commit_at: IsoTime | None = None
    keep_recent_count: Annotated[int, Ge(0), Le(MAX_KEEP_RECENT)] = 0
    turns: TurnsLine | None = None
    anchor_seq: _Place | None = None
    memory_policy: dict[str, Any] | None = None
    auto_commit_policy: AutoCommitPolicy | None = None
    memory_extraction_config: dict[str, Any] | None = None
    messages: _Number = 0
    archives: _Number = 0

    def record(self) -> Record:
        return Head(
            name=self.session_id,
            created_at=parse_time(self.created_at),
            last_message_at=_moment(self.last_message_at),
            last_commit_at=_moment(self.last_commit_at),
            retention=Retention(self.keep_recent_count, self.turns.retention() if self.turns else None),
            anchor_seq=self.anchor_seq,
            memory_policy=self.memory_policy,
            auto_commit_policy=self.auto_commit_policy.model_dump() if self.auto_commit_policy else None,
            memory_extraction_config=self.memory_extraction_config,
            messages=self.messages,
            archives=self.archives,
        )


class MessageLine(AddMessage):
    """A message as it was added, with its place and when it was said."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    type: Literal["message"]
    seq: _Place
    id: Annotated[str, StringConstraints(pattern=r"^msg_[0-9a-f]{32}$")] | None = None
    said_at: IsoTime | None = None
    origin: Literal["client", "injected"] = "client"
    body_sha256: _Sha256 | None = None

    def record(self) -> Record:
        said_at = self.said_at or self.created_at
        new = replace(
            self.as_new(),
            said_at=_moment(said_at),
            origin=self.origin,
            message_id=UUID(hex=self.id[4:]) if self.id else None,
            stored_hash=bytes.fromhex(self.body_sha256) if self.body_sha256 else None,
        )
        return MovedMessage(self.seq, new)


class ArchiveLine(_Line):
    """An archive: its range, and what its steps came to."""

    type: Literal["archive"]
    archive_no: _ArchiveNo
    first_seq: _Place
    last_seq: _Place
    working_memory: _Outcome
    long_term_memory: _Outcome = StepOutcome.OFF
    abstract: Annotated[str, StringConstraints(max_length=1000)] = ""
    created_at: IsoTime
    started_at: IsoTime | None = None
    finished_at: IsoTime | None = None
    document_revision: _Small = 0
    document_source: _Name | None = None
    document_provider: _Name | None = None
    legacy_overview: str | None = None
    extraction_metadata: dict[str, Any] | None = None

    def record(self) -> Record:
        return MovedArchive(
            archive_no=self.archive_no,
            first_seq=self.first_seq,
            last_seq=self.last_seq,
            working_memory=self.working_memory,
            long_term_memory=_without_document(self.long_term_memory),
            abstract=self.abstract,
            created_at=parse_time(self.created_at),
            started_at=_moment(self.started_at),
            finished_at=_moment(self.finished_at),
            document_revision=self.document_revision,
            document_source=self.document_source,
            document_provider=self.document_provider,
            legacy_overview=self.legacy_overview,
            extraction_metadata=self.extraction_metadata,
        )


def _without_document(outcome: StepOutcome) -> StepOutcome:
    """Only a working memory can be covered by a later one."""
    return StepOutcome.OFF if outcome is StepOutcome.COVERED else outcome


class SectionLine(_Line):
    section: _Section
    body: str
    requested_op: _Name = "UPDATE"
    applied_op: _Name = "UPDATE"
    changed: bool = True
    guard: _Name | None = None
    reason: _Name | None = None
    tokens_before: _Small = 0
    bullets_before: _Small = 0

    def moved(self) -> MovedSection:
        return MovedSection(
            self.section,
            self.body,
            self.requested_op,
            self.applied_op,
            self.changed,
            self.guard,
            self.reason,
            self.tokens_before,
            self.bullets_before,
        )


class DocumentLine(_Line):
    """The seven sections after one archive."""

    type: Literal["document"]
    archive_no: _ArchiveNo
    revision: _Small = 0
    sections: list[SectionLine]

    def record(self) -> Record:
        return MovedDocument(self.archive_no, self.revision, tuple(section.moved() for section in self.sections))


class DeferredLine(_Line):
    """A fact that waits outside the document."""

    type: Literal["deferred"]
    section: _Section
    text: Annotated[str, StringConstraints(min_length=1)]
    reason: _Name
    archive_no: _ArchiveNo
    admitted_in: _ArchiveNo | None = None
    created_at: IsoTime

    def record(self) -> Record:
        at = parse_time(self.created_at)
        return MovedItem(self.section, self.text, self.reason, self.archive_no, self.admitted_in, at)


class ToolResultLine(_Line):
    """A large output or input of a tool."""

    type: Literal["tool_result"]
    tool_result_id: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    seq: _Place
    content: str
    direction: Literal["output", "input"] = "output"
    mime_type: _Name = "text/plain"
    preview_chars: _Small = 0
    created_at: IsoTime
    tool_id: _Name | None = None
    tool_name: str | None = None

    def record(self) -> Record:
        return MovedToolResult(
            self.tool_result_id,
            self.seq,
            self.content,
            self.direction,
            self.mime_type,
            min(self.preview_chars, len(self.content)),
            parse_time(self.created_at),
            self.tool_id,
            self.tool_name,
        )


class EndLine(_Line):
    """The last line, by which a whole export is told from one that was cut short."""

    type: Literal["end"]
    messages: _Number
    archives: _Number

    def record(self) -> Record:
        return End(self.messages, self.archives)


Line: TypeAlias = Annotated[
    SessionLine | MessageLine | ArchiveLine | DocumentLine | DeferredLine | ToolResultLine | EndLine,
    Discriminator("type"),
]
LINE: Final[TypeAdapter[Line]] = TypeAdapter(Line)
LINE_TAGS: Final = frozenset({"session", "message", "archive", "document", "deferred", "tool_result", "end"})
