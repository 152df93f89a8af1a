"""Large outputs and inputs of tools, of which a message shows a preview only."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from app.api.auth import Tenant, services_of
from app.api.envelope import answers, ok
from app.api.parameters import SessionName
from app.api.views.tool_results import (
    ExcerptView,
    MatchesView,
    ToolResultsView,
    excerpt_view,
    matches_view,
    tool_results_view,
)

DEFAULT_LISTED: Final = 50
MAX_LISTED: Final = 1_000
DEFAULT_CHARS: Final = 20_000
MAX_CHARS: Final = 1_000_000_000
DEFAULT_MATCHES: Final = 20
MAX_MATCHES: Final = 1_000
DEFAULT_CONTEXT_CHARS: Final = 300
MAX_CONTEXT_CHARS: Final = 20_000

Offset = Annotated[int, Query(ge=0, le=MAX_CHARS, description="First character, in Unicode code points from 0.")]
Length = Annotated[int, Query(ge=-1, le=MAX_CHARS, description="Most characters; -1 for all that follow.")]
Wanted = Annotated[str, Query(min_length=1, description="Text to find, letter for letter.")]

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/tool-results", tags=["tool results"])


@router.get("", responses=answers(ToolResultsView), summary="List the tool results")
async def list_tool_results(
    request: Request,
    scope: Tenant,
    session_id: SessionName,
    tool_name: Annotated[str | None, Query(description="Only those of this tool.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = DEFAULT_LISTED,
) -> Response:
    """List what a session keeps beside its messages, the newest first, without the texts."""
    results = await services_of(request).tool_results.list_newest(scope, session_id, tool_name=tool_name, limit=limit)
    return ok(tool_results_view(scope, session_id, results))


@router.get("/{tool_result_id}", responses=answers(ExcerptView), summary="Read a tool result")
async def read_tool_result(
    request: Request,
    scope: Tenant,
    session_id: SessionName,
    tool_result_id: str,
    offset: Offset = 0,
    limit: Length = DEFAULT_CHARS,
    include_metadata: bool = True,
) -> Response:
    """Return a range of the text. `has_more` says whether anything follows."""
    excerpt = await services_of(request).tool_results.read(
        scope, session_id, tool_result_id, offset=offset, limit=limit
    )
    return ok(excerpt_view(scope, session_id, excerpt, limit=limit, include_metadata=include_metadata))


@router.get("/{tool_result_id}/search", responses=answers(MatchesView), summary="Search a tool result")
async def search_tool_result(
    request: Request,
    scope: Tenant,
    session_id: SessionName,
    tool_result_id: str,
    q: Wanted,
    limit: Annotated[int, Query(ge=1, le=MAX_MATCHES)] = DEFAULT_MATCHES,
    context_chars: Annotated[int, Query(ge=0, le=MAX_CONTEXT_CHARS)] = DEFAULT_CONTEXT_CHARS,
) -> Response:
    """Find a text, letter for letter and case sensitive; matches do not overlap."""
    matches = await services_of(request).tool_results.search(
        scope, session_id, tool_result_id, q, limit=limit, context_chars=context_chars
    )
    return ok(matches_view(tool_result_id, matches))
