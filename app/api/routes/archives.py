"""Archives: what was closed, and what came of it."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.envelope import answers, ok
from app.api.parameters import SessionName
from app.api.views.archives import ArchiveEntryView, ArchiveView, archive_entry_view, archive_view

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/archives", tags=["archives"])


@router.get("", responses=answers(list[ArchiveEntryView]), summary="List the archives")
async def list_archives(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """List the archives of a session, the oldest first, each with its state."""
    archives = await services_of(request).archives.list_with_jobs(scope, session_id)
    return ok([archive_entry_view(scope, session_id, archive, jobs) for archive, jobs in archives])


@router.get("/{archive_id}", responses=answers(ArchiveView), summary="Read an archive")
async def get_archive(request: Request, scope: Tenant, session_id: SessionName, archive_id: str) -> Response:
    """Show an archive in any state with its messages, and its overview once there is one."""
    full = await services_of(request).archives.get(scope, session_id, archive_id)
    return ok(archive_view(scope, session_id, full))
