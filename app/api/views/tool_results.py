"""Large tool outputs and inputs as clients read them."""

from collections.abc import Sequence
from typing import Final, NotRequired

from typing_extensions import TypedDict

from app.api.views.messages import message_id
from app.api.views.names import microseconds, session_uri
from app.domain.scope import Scope
from app.domain.tool_results.externalising import reference
from app.domain.tool_results.reading import Excerpt, Match, ToolResult

OFFSET_UNIT: Final = "unicode_code_point"


class ToolResultView(TypedDict):
    tool_result_id: str
    session_id: str
    message_id: str
    tool_id: str
    tool_name: str
    user_id: str
    peer_id: str | None
    created_at: str
    direction: str
    original_chars: int
    preview_chars: int
    sha256: str
    mime_type: str
    detected_kind: str
    synopsis: str
    storage_uri: str
    output_uri: str
    offset_unit: str


class ToolResultsView(TypedDict):
    tool_results: list[ToolResultView]


class ExcerptView(TypedDict):
    tool_result_id: str
    content: str
    offset: int
    limit: int
    offset_unit: str
    total_chars: int
    has_more: bool
    metadata: NotRequired[ToolResultView]


class MatchView(TypedDict):
    offset: int
    offset_unit: str
    snippet: str


class MatchesView(TypedDict):
    tool_result_id: str
    matches: list[MatchView]


def tool_results_view(scope: Scope, session_name: str, results: Sequence[ToolResult]) -> ToolResultsView:
    return {"tool_results": [tool_result_view(scope, session_name, result) for result in results]}


def tool_result_view(scope: Scope, session_name: str, result: ToolResult) -> ToolResultView:
    """Return what is known of a text, without the text."""
    return {
        "tool_result_id": result.tool_result_id,
        "session_id": session_name,
        "message_id": message_id(result.message_id),
        "tool_id": result.tool_id or "",
        "tool_name": result.tool_name or "",
        "user_id": scope.user_name,
        "peer_id": result.peer_id,
        "created_at": microseconds(result.created_at),
        "direction": result.direction,
        "original_chars": result.chars,
        "preview_chars": result.preview_chars,
        "sha256": result.content_sha256.hex(),
        "mime_type": result.mime_type,
        "detected_kind": result.kind,
        "synopsis": result.synopsis,
        "storage_uri": f"{session_uri(scope, session_name)}/tool-results/{result.tool_result_id}/output.txt",
        "output_uri": reference(session_name, result.tool_result_id),
        "offset_unit": OFFSET_UNIT,
    }


def excerpt_view(
    scope: Scope, session_name: str, excerpt: Excerpt, *, limit: int, include_metadata: bool
) -> ExcerptView:
    view: ExcerptView = {
        "tool_result_id": excerpt.result.tool_result_id,
        "content": excerpt.content,
        "offset": excerpt.offset,
        "limit": limit,
        "offset_unit": OFFSET_UNIT,
        "total_chars": excerpt.result.chars,
        "has_more": excerpt.has_more,
    }
    if include_metadata:
        view["metadata"] = tool_result_view(scope, session_name, excerpt.result)
    return view


def matches_view(tool_result_id: str, matches: Sequence[Match]) -> MatchesView:
    return {
        "tool_result_id": tool_result_id,
        "matches": [
            {"offset": match.offset, "offset_unit": OFFSET_UNIT, "snippet": match.snippet} for match in matches
        ],
    }
