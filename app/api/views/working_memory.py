"""Working memories as clients read them."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from app.domain.archives import archive_id
from app.domain.documents import StoredDocument
from app.domain.working_memory.deferral import DeferredItem
from app.services.working_memory.working_memories import Comparison, CurrentWorkingMemory


class DeferredView(TypedDict):
    section: str
    text: str
    reason: str


class SectionView(TypedDict):
    section: str
    body: str
    tokens: int
    bullets: int
    requested_op: str
    applied_op: str
    changed: bool
    guard: str | None
    reason: str | None


class SectionOrigin(TypedDict):
    """The document in which a section last changed; a revision above 0 is a correction by hand."""

    section: str
    archive_id: str
    revision: int


class WorkingMemoryAdditions(TypedDict):
    """What only Cairn says: who wrote the document, where each section came from, what waits outside it, and whether
    it is current.

    working_memory is current, pending, stale (an update failed, the document stands as it was) or none. With
    placeholder the overview is no document: it says that no model answered yet.
    """

    working_memory: str
    placeholder: bool
    provider: str | None
    origins: list[SectionOrigin]
    deferred: list[DeferredView]


class DocumentView(TypedDict):
    session_id: str
    archive_id: str | None
    revision: int
    covered_through_seq: int
    overview: str
    tokens: int
    sections: list[SectionView]


class WorkingMemoryView(DocumentView):
    cairn: WorkingMemoryAdditions


class SectionDifferenceView(TypedDict):
    section: str
    added: list[str]
    removed: list[str]
    kept: int
    changed: bool


class DifferenceView(TypedDict):
    session_id: str
    archive_id: str
    against: str | None
    sections: list[SectionDifferenceView]


def document_view(session_name: str, document: StoredDocument | None) -> DocumentView:
    """Return one document in one piece and by section; empty where there is none."""
    return {
        "session_id": session_name,
        "archive_id": archive_id(document.archive_no) if document else None,
        "revision": document.revision if document else 0,
        "covered_through_seq": document.last_seq if document else 0,
        "overview": document.text if document else "",
        "tokens": document.tokens if document else 0,
        "sections": _section_views(document) if document else [],
    }


def difference_view(session_name: str, archive: str, compared: Comparison) -> DifferenceView:
    """Return what came and went between two documents."""
    return {
        "session_id": session_name,
        "archive_id": archive,
        "against": archive_id(compared.against_no) if compared.against_no else None,
        "sections": [
            {
                "section": difference.section.value,
                "added": list(difference.added),
                "removed": list(difference.removed),
                "kept": difference.kept,
                "changed": difference.changed,
            }
            for difference in compared.sections
        ],
    }


def working_memory_view(session_name: str, current: CurrentWorkingMemory) -> WorkingMemoryView:
    """Return the newest document in one piece and by section; a placeholder where no model answered before it."""
    view = document_view(session_name, current.document)
    return {
        **view,
        "overview": view["overview"] or current.placeholder,
        "cairn": {
            "working_memory": current.freshness.value,
            "placeholder": bool(current.placeholder),
            "provider": current.archive.document_provider if current.archive else None,
            "origins": [
                {"section": section.value, "archive_id": archive_id(number), "revision": revision}
                for section, (number, revision) in sorted(current.changes.items(), key=lambda entry: entry[0].number)
            ],
            "deferred": deferred_views(current.deferred),
        },
    }


def deferred_views(items: Iterable[DeferredItem]) -> list[DeferredView]:
    return [{"section": item.section.value, "text": item.text, "reason": item.reason} for item in items]


def _section_views(document: StoredDocument) -> list[SectionView]:
    return [
        {
            "section": section.value,
            "body": record.body,
            "tokens": record.tokens,
            "bullets": record.bullets,
            "requested_op": record.requested_op,
            "applied_op": record.applied_op,
            "changed": record.changed,
            "guard": record.guard,
            "reason": record.reason,
        }
        for section, record in sorted(document.sections.items(), key=lambda entry: entry[0].number)
    ]
