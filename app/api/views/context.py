"""Contexts as clients read them."""

from typing_extensions import TypedDict

from app.api.views.messages import MessageView, message_id, message_views
from app.api.views.working_memory import DeferredView, deferred_views
from app.domain.archives import archive_id
from app.domain.context.fitting import ORDER_OF_SACRIFICE
from app.domain.scope import Scope
from app.services.context import AssembledContext


class WatermarkView(TypedDict):
    covered_through_seq: int
    last_seq: int
    pending_archives: int


class ContextStats(TypedDict):
    totalArchives: int
    includedArchives: int
    droppedArchives: int
    failedArchives: int
    activeTokens: int
    archiveTokens: int


class ShortenedMessageView(TypedDict):
    id: str
    tokens: int


class ContextAdditions(TypedDict):
    """What only Cairn says: how current the context is, who wrote the overview, and what the budget left out.

    working_memory is current, pending, stale (an update failed, the document stands as it was) or none. With
    placeholder the overview is no document: it says that no model answered yet. The last four say what the budget took
    away, shortened_messages with the tokens they have in full, and in which order it would take more.
    """

    watermark: WatermarkView
    working_memory: str
    placeholder: bool
    provider: str | None
    archive_id: str | None
    deferred: list[DeferredView]
    dropped_messages: int
    shortened_messages: list[ShortenedMessageView]
    omitted_sections: list[str]
    order_of_sacrifice: list[str]


class ContextView(TypedDict):
    latest_archive_overview: str
    pre_archive_abstracts: list[str]
    messages: list[MessageView]
    estimatedTokens: int
    stats: ContextStats
    cairn: ContextAdditions


def context_view(scope: Scope, context: AssembledContext) -> ContextView:
    fitted, mark = context.fitted, context.watermark
    included = int(bool(fitted.overview) and not context.is_placeholder)
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
            "working_memory": context.freshness.value,
            "placeholder": context.is_placeholder,
            "provider": context.document_provider,
            "archive_id": archive_id(context.document_archive_no) if context.document_archive_no else None,
            "deferred": deferred_views(context.deferred),
            "dropped_messages": fitted.dropped_messages,
            "shortened_messages": [
                {"id": message_id(message.message_id), "tokens": message.tokens}
                for message in fitted.shortened_messages
            ],
            "omitted_sections": [section.value for section in fitted.omitted_sections],
            "order_of_sacrifice": list(ORDER_OF_SACRIFICE),
        },
    }
