"""A working-memory document as rows know it: which archive it stands after, and how each section got there."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.working_memory.document import render_document
from app.domain.working_memory.sections import SECTIONS, Section


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """One section of one document, with what was asked for it and what a guard made of that."""

    section: Section
    body: str
    tokens: int
    bullets: int
    requested_op: str
    applied_op: str
    changed: bool
    guard: str | None = None
    reason: str | None = None
    tokens_before: int = 0
    bullets_before: int = 0


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The working memory after one archive; revision counts corrections by hand.

    legacy: the text of one that was imported and has none of the seven sections; it then has no bodies.
    """

    archive_no: int
    revision: int
    last_seq: int
    sections: Mapping[Section, SectionRecord]
    legacy: str | None = None

    @property
    def text(self) -> str:
        """Return the document in one piece, as people and hosts read it."""
        return self.legacy if self.legacy is not None else render_document(self.bodies)

    @property
    def bodies(self) -> dict[Section, str]:
        return {section: self.sections[section].body for section in SECTIONS if section in self.sections}

    @property
    def tokens(self) -> int:
        return sum(record.tokens for record in self.sections.values())


@dataclass(frozen=True, slots=True)
class BaseDocument:
    """What an update builds on: 0, 0 when there is no document yet. last_seq is the newest message it covers."""

    archive_no: int = 0
    revision: int = 0
    last_seq: int = 0
