"""The context a host sends to its model, and the working memory behind it."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from app.api.auth import Tenant, services_of
from app.api.envelope import answers, ok
from app.api.parameters import SessionName
from app.api.views.context import ContextView, WorkingMemoryView, context_view, working_memory_view

DEFAULT_TOKEN_BUDGET: Final = 128_000
MAX_TOKEN_BUDGET: Final = 1_000_000_000

TokenBudget = Annotated[int, Query(ge=0, le=MAX_TOKEN_BUDGET, description="Most tokens, by the server's own count.")]

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}", tags=["context"])


@router.get("/context", responses=answers(ContextView), summary="Assemble a context")
async def get_context(
    request: Request, scope: Tenant, session_id: SessionName, token_budget: TokenBudget = DEFAULT_TOKEN_BUDGET
) -> Response:
    """Return the newest working memory and every message it does not cover, each once, within the budget.

    `cairn.watermark` says up to which message memory is current.
    """
    context = await services_of(request).context.assemble(scope, session_id, token_budget)
    return ok(context_view(scope, context))


@router.get("/working-memory", responses=answers(WorkingMemoryView), summary="Read the working memory")
async def get_working_memory(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Return the newest document in one piece and by section, with what each section's last change came to."""
    current = await services_of(request).working_memory.current(scope, session_id)
    return ok(working_memory_view(session_id, current))
