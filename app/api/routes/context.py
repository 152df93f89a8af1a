"""The context a host sends to its model."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from app.api.auth import Tenant, services_of
from app.api.envelope import answers, ok
from app.api.parameters import SessionName
from app.api.views.context import ContextView, context_view

DEFAULT_TOKEN_BUDGET: Final = 128_000
MAX_TOKEN_BUDGET: Final = 1_000_000_000

TokenBudget = Annotated[int, Query(ge=0, le=MAX_TOKEN_BUDGET, description="Most tokens, by the server's own count.")]

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/context", tags=["context"])


@router.get("", responses=answers(ContextView), summary="Assemble a context")
async def get_context(
    request: Request, scope: Tenant, session_id: SessionName, token_budget: TokenBudget = DEFAULT_TOKEN_BUDGET
) -> Response:
    """Return the newest working memory and every message it does not cover, each once, within the budget.

    `cairn.watermark` says up to which message memory is current.
    """
    context = await services_of(request).context.assemble(scope, session_id, token_budget)
    return ok(context_view(scope, context))
