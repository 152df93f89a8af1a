"""Contexts and working memories as clients read them."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from app.api.views.messages import MessageView, message_views
from app.domain.archives import archive_id
from app.domain.documents import StoredDocument
from app.domain.scope import Scope
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import render_document
from app.services.context import AssembledContext
from app.services.working_memory.working_memories import CurrentWorkingMemory


class WatermarkView(TypedDict):
    covered_through_seq: int
    last_seq: int
    pending_archives: int


class DeferredView(TypedDict):
    section: str
    text: str
    reason: str


class ContextStats(TypedDict):
    totalArchives: int
    includedArchives: int
    droppedArchives: int
    failedArchives: int
    activeTokens: int
    archiveTokens: int


class ContextAdditions(TypedDict):
    """What only Cairn says: how current the context is, who wrote the overview, and what the budget left out."""

    watermark: WatermarkView
    provider: str | None
    archive_id: str | None
    deferred: list[DeferredView]
    dropped_messages: int
    omitted_sections: list[str]


class ContextView(TypedDict):
    latest_archive_overview: str
    pre_archive_abstracts: list[str]
    messages: list[MessageView]
    estimatedTokens: int
    stats: ContextStats
    cairn: ContextAdditions


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


class WorkingMemoryAdditions(TypedDict):
    provider: str | None
    deferred: list[DeferredView]


class WorkingMemoryView(TypedDict):
    session_id: str
    archive_id: str | None
    revision: int
    covered_through_seq: int
    overview: str
    tokens: int
    sections: list[SectionView]
    cairn: WorkingMemoryAdditions


def context_view(scope: Scope, context: AssembledContext) -> ContextView:
    fitted, mark = context.fitted, context.watermark
    included = int(bool(fitted.overview))
    return {
        "latest_archive_overview": fitted.overview,
        "pre_archive_abstracts": [],
        "messages": message_views(scope, fitted.messages),
        "estimatedTokens": fitted.overview_tokens + fitted.message_tokens,
        "stats": {
            "totalArchives": context.archives,
            "includedArchives": included,
            "droppedArchives": context.archives - included,
            "failedArchives": context.failed_archives,
            "activeTokens": fitted.message_tokens,
            "archiveTokens": fitted.overview_tokens,
        },
        "cairn": {
            "watermark": {
                "covered_through_seq": mark.covered_through_seq,
                "last_seq": mark.last_seq,
                "pending_archives": mark.pending_archives,
            },
            "provider": context.document_provider,
            "archive_id": archive_id(context.document_archive_no) if context.document_archive_no else None,
            "deferred": deferred_views(context.deferred),
            "dropped_messages": fitted.dropped_messages,
            "omitted_sections": [section.value for section in fitted.omitted_sections],
        },
    }


def working_memory_view(session_name: str, current: CurrentWorkingMemory) -> WorkingMemoryView:
    """Return the newest document in one piece and by section; empty before the first one."""
    document = current.document
    return {
        "session_id": session_name,
        "archive_id": archive_id(document.archive_no) if document else None,
        "revision": document.revision if document else 0,
        "covered_through_seq": document.last_seq if document else 0,
        "overview": render_document(document.bodies) if document else "",
        "tokens": document.tokens if document else 0,
        "sections": _section_views(document) if document else [],
        "cairn": {
            "provider": current.archive.document_provider if current.archive else None,
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
