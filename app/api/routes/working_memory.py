"""Working memories: the newest, those after each archive, what changed between two, and corrections by hand."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.body import read_body
from app.api.envelope import answers, ok, telemetry
from app.api.parameters import SessionName
from app.api.schemas.working_memory import CorrectSection
from app.api.views.working_memory import (
    DifferenceView,
    DocumentView,
    WorkingMemoryView,
    difference_view,
    document_view,
    working_memory_view,
)

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}", tags=["working memory"])


@router.get("/working-memory", responses=answers(WorkingMemoryView), summary="Read the working memory")
async def get_working_memory(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Return the newest document in one piece and by section, with what each section's last change came to."""
    current = await services_of(request).working_memory.current(scope, session_id)
    return ok(working_memory_view(session_id, current))


@router.put("/working-memory/{section}", responses=answers(DocumentView), summary="Put a section right")
async def correct_section(request: Request, scope: Tenant, session_id: SessionName, section: str) -> Response:
    """Replace one section of the newest document by hand; the rest stays, and the next update builds on it.

    The section is named as people write it: `Key Facts & Decisions`, `key-facts-and-decisions`, `key facts decisions`.
    """
    body = await read_body(request, CorrectSection)
    name = section.replace("-", " ").replace("_", " ")
    document = await services_of(request).corrections.correct(scope, session_id, name, body.content)
    return ok(document_view(session_id, document), telemetry(request, body.telemetry, "working_memory.correct"))


@router.get(
    "/archives/{archive_id}/working-memory", responses=answers(DocumentView), summary="Read the document of an archive"
)
async def get_document(request: Request, scope: Tenant, session_id: SessionName, archive_id: str) -> Response:
    """Return the working memory as it stood after one archive; empty while its step has not ended."""
    document = await services_of(request).working_memory.after(scope, session_id, archive_id)
    return ok(document_view(session_id, document))


@router.get(
    "/archives/{archive_id}/working-memory/diff",
    responses=answers(DifferenceView),
    summary="Compare the documents of two archives",
)
async def get_difference(
    request: Request, scope: Tenant, session_id: SessionName, archive_id: str, against: str | None = None
) -> Response:
    """Show the items that came and went, by section, since archive `against`; by default the document before."""
    compared = await services_of(request).working_memory.compare(scope, session_id, archive_id, against=against)
    return ok(difference_view(session_id, archive_id, compared))
