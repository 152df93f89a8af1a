"""Take a whole session out as JSON lines, and bring one in."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from app.api.auth import Tenant, services_of
from app.api.body import limits_of
from app.api.envelope import ErrorReply, answers, ok
from app.api.json_lines import batches, spooled
from app.api.parameters import SessionName
from app.api.schemas.transfer import Line
from app.api.views.transfer import ImportedSessionView, broken_line, lines
from app.domain.errors import AppError
from app.domain.transfer import Record

log = structlog.get_logger(__name__)

_LINE_OVERHEAD: Final = 64 * 1024
"""A line of an export holds a message and what is known about it; a tool result may be as large as a message."""

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}", tags=["sessions"])


class JsonLines(StreamingResponse):
    media_type = "application/x-ndjson"


@router.get(
    "/export",
    response_class=JsonLines,
    responses={
        200: {"model": Line, "description": "One JSON object per line: the session, what it holds, and an end."},
        "default": {"model": ErrorReply, "description": "Refused or failed; `error.code` says why."},
    },
    summary="Export a session",
)
async def export_session(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Stream a session as it is at this moment: messages, archives, documents, facts that wait, tool results.

    The last line has type `end`. Where it is missing the export is cut short; `broken` says why.
    """
    pages = services_of(request).transfers.export(scope, session_id)
    first = await anext(pages)  # what refuses, refuses here, while there is still a status to say so
    return JsonLines(streamed_lines(first, pages))


async def streamed_lines(first: Sequence[Record], pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield the lines of an export; where it breaks off, the last line says why."""
    yield b"".join(lines(first))
    try:
        async for page in pages:
            yield b"".join(lines(page))
    except AppError as error:
        log.info("export_broken", code=error.code)
        yield broken_line(error.message)


@router.post("/import", responses=answers(ImportedSessionView), summary="Import a session")
async def import_session(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Make a session of the lines of an export, all of it or nothing. A session of that name must not exist yet."""
    transfers, limits = services_of(request).transfers, limits_of(request)
    await transfers.require_free(scope, session_id)
    async with spooled(request) as file:
        records = batches(file, max(limits.message_bytes, limits.body_bytes) + _LINE_OVERHEAD)
        head = await transfers.bring_in(scope, session_id, records)
    view: ImportedSessionView = {"session_id": session_id, "messages": head.messages, "archives": head.archives}
    return ok(view)
