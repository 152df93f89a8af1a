"""A session on its way from one place to another: the lines of an export, and the rules that make them one session."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from app.domain.archives import StepOutcome
from app.domain.errors import InvalidInput
from app.domain.messages import NewMessage
from app.domain.retention import Retention
from app.domain.working_memory.sections import SECTIONS, Section

FORMAT: Final = "cairn-session"
VERSION: Final = 1

_WITH_DOCUMENT: Final = frozenset({StepOutcome.APPLIED, StepOutcome.NOTHING_TO_REMEMBER, StepOutcome.PARTIAL})


@dataclass(frozen=True, slots=True)
class Head:
    """The first line: the session itself, and how much follows."""

    name: str
    created_at: datetime
    last_message_at: datetime | None
    last_commit_at: datetime | None
    retention: Retention
    anchor_seq: int | None
    memory_policy: Mapping[str, object] | None
    auto_commit_policy: Mapping[str, object] | None
    memory_extraction_config: Mapping[str, object] | None
    messages: int
    archives: int


@dataclass(frozen=True, slots=True)
class MovedMessage:
    """A message with its place."""

    seq: int
    new: NewMessage


@dataclass(frozen=True, slots=True)
class MovedArchive:
    """An archive and what its steps came to. legacy_overview: the text of a document without sections."""

    archive_no: int
    first_seq: int
    last_seq: int
    working_memory: StepOutcome
    long_term_memory: StepOutcome
    abstract: str
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    document_revision: int = 0
    document_source: str | None = None
    document_provider: str | None = None
    legacy_overview: str | None = None
    extraction_metadata: Mapping[str, object] | None = None

    @property
    def has_document(self) -> bool:
        return self.working_memory in _WITH_DOCUMENT


@dataclass(frozen=True, slots=True)
class MovedSection:
    """One section of a document, with how it came about."""

    section: Section
    body: str
    requested_op: str
    applied_op: str
    changed: bool
    guard: str | None = None
    reason: str | None = None
    tokens_before: int = 0
    bullets_before: int = 0


@dataclass(frozen=True, slots=True)
class MovedDocument:
    """The seven sections after one archive; revision counts corrections by hand."""

    archive_no: int
    revision: int
    sections: tuple[MovedSection, ...]


@dataclass(frozen=True, slots=True)
class MovedItem:
    """A fact that waits outside the document, or waited until archive admitted_in."""

    section: Section
    text: str
    reason: str
    archive_no: int
    admitted_in: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MovedToolResult:
    """A large output or input of a tool that stands outside its message."""

    tool_result_id: str
    seq: int
    content: str
    direction: str
    mime_type: str
    preview_chars: int
    created_at: datetime
    tool_id: str | None = None
    tool_name: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The last line: without it an export is cut short."""

    messages: int
    archives: int


Record: TypeAlias = Head | MovedMessage | MovedArchive | MovedDocument | MovedItem | MovedToolResult | End


@dataclass(slots=True)
class Itinerary:
    """Checks, line by line, that what comes in is one whole session in the order of an export."""

    messages: int = 0
    sealed: int = 0
    archives: int = 0
    head: Head | None = None
    ended: bool = False
    _documents: dict[int, MovedArchive] = field(default_factory=dict)
    _complete: set[tuple[int, int]] = field(default_factory=set)

    def check(self, record: Record) -> None:
        """Take the next record. Raises InvalidInput for one that cannot follow what came before."""
        if self.ended:
            raise InvalidInput("nothing may follow the last line")
        if (self.head is None) != isinstance(record, Head):
            raise InvalidInput("the first line, and no other, describes the session")
        if isinstance(record, Head):
            self.head = record
        elif isinstance(record, End):
            self._check_end(record)
        else:
            self._check_part(record)

    def _check_part(self, record: Record) -> None:
        match record:
            case MovedMessage():
                self._check_message(record)
            case MovedArchive():
                self._check_archive(record)
            case MovedDocument():
                self._check_document(record)
            case MovedItem():
                self._check_item(record)
            case MovedToolResult():
                self._require(1 <= record.seq <= self.messages, "the message of this tool result is missing")

    def _check_message(self, message: MovedMessage) -> None:
        self._require(not self.archives, "messages come before archives")
        self._require(message.seq == self.messages + 1, f"message {self.messages + 1} is missing")
        self.messages += 1

    def _check_archive(self, archive: MovedArchive) -> None:
        self._require(archive.archive_no == self.archives + 1, f"archive {self.archives + 1} is missing")
        self._require(archive.first_seq == self.sealed + 1, f"an archive must begin with message {self.sealed + 1}")
        self._require(archive.first_seq <= archive.last_seq <= self.messages, "an archive has messages that are there")
        self._require(
            archive.legacy_overview is None or archive.has_document, "only a finished archive has an overview"
        )
        self.archives, self.sealed = archive.archive_no, archive.last_seq
        if archive.has_document:
            self._documents[archive.archive_no] = archive

    def _check_document(self, document: MovedDocument) -> None:
        archive = self._documents.get(document.archive_no)
        key = (document.archive_no, document.revision)
        self._require(archive is not None and archive.legacy_overview is None, "this archive has no such document")
        self._require(key not in self._complete, "this document stands here twice")
        self._require({s.section for s in document.sections} == set(SECTIONS), "a document has seven sections")
        self._require(len(document.sections) == len(SECTIONS), "a section stands here twice")
        self._complete.add(key)

    def _check_item(self, item: MovedItem) -> None:
        known = range(1, self.archives + 1)
        admitted = item.admitted_in
        self._require(item.archive_no in known, "the archive of this fact is missing")
        self._require(
            admitted is None or (admitted in known and admitted >= item.archive_no), "admitted_in is no later"
        )

    def _check_end(self, end: End) -> None:
        self._require(
            (end.messages, end.archives) == (self.messages, self.archives), "messages or archives are missing"
        )
        wanted = {(n, a.document_revision) for n, a in self._documents.items() if a.legacy_overview is None}
        self._require(wanted <= self._complete, "the document of an archive is missing")
        self.ended = True

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise InvalidInput(otherwise)
