"""Archives as clients read them."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from app.api.views.messages import MessageView, message_views
from app.api.views.names import archive_uri, milliseconds, milliseconds_or_none
from app.api.views.steps import StepView, step_views
from app.domain.archives import Archive
from app.domain.freshness import archive_freshness
from app.domain.jobs import StepReport
from app.domain.scope import Scope
from app.services.archives import ArchiveView as FullArchive


class ArchiveEntryView(TypedDict):
    archive_id: str
    uri: str
    task_id: str
    status: str
    outcome: str | None
    working_memory: str
    abstract: str
    message_count: int
    tokens: int
    first_seq: int
    last_seq: int
    trigger: str
    provider: str | None
    steps: list[StepView]
    created_at: str
    started_at: str | None
    finished_at: str | None


class ArchiveView(TypedDict):
    archive_id: str
    abstract: str
    overview: str
    messages: list[MessageView]
    cairn: dict[str, Any]


def archive_entry_view(
    scope: Scope, session_name: str, archive: Archive, jobs: Sequence[StepReport]
) -> ArchiveEntryView:
    return {
        "archive_id": archive.archive_id,
        "uri": archive_uri(scope, session_name, archive.archive_no),
        "task_id": str(archive.task_id),
        "status": archive.status,
        "outcome": archive.outcome,
        "working_memory": archive_freshness(archive).value,
        "abstract": archive.abstract,
        "message_count": archive.message_count,
        "tokens": archive.tokens,
        "first_seq": archive.first_seq,
        "last_seq": archive.last_seq,
        "trigger": archive.trigger,
        "provider": archive.document_provider,
        "steps": step_views(archive, jobs),
        "created_at": milliseconds(archive.created_at),
        "started_at": milliseconds_or_none(archive.started_at),
        "finished_at": milliseconds_or_none(archive.finished_at),
    }


def archive_view(scope: Scope, session_name: str, full: FullArchive) -> ArchiveView:
    """Return an archive in any state; the overview is '' until it has a document."""
    return {
        "archive_id": full.archive.archive_id,
        "abstract": full.archive.abstract,
        "overview": full.overview,
        "messages": message_views(scope, full.messages),
        "cairn": dict(archive_entry_view(scope, session_name, full.archive, full.jobs)),
    }
