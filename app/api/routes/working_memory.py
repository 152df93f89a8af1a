"""The newest working memory of a session."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.envelope import answers, ok
from app.api.parameters import SessionName
from app.api.views.working_memory import WorkingMemoryView, working_memory_view

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/working-memory", tags=["working memory"])


@router.get("", responses=answers(WorkingMemoryView), summary="Read the working memory")
async def get_working_memory(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Return the newest document in one piece and by section, with what each section's last change came to."""
    current = await services_of(request).working_memory.current(scope, session_id)
    return ok(working_memory_view(session_id, current))
