"""Add messages: the busiest routes of the server."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import services_of, tenant
from app.api.body import read_body
from app.api.envelope import answers, ok, telemetry
from app.api.errors import invalid_fields
from app.api.hot_route import HotRoute
from app.api.schemas.messages import AddMessage, AddMessages
from app.api.views.messages import AddedView, BatchAddedView

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/messages", tags=["messages"], route_class=HotRoute)


@router.post("", responses=answers(AddedView), summary="Add a message")
async def add_message(request: Request, session_id: str) -> Response:
    """Store one message at the end of a session; the session is made with its first message.

    When the answer is there, the message is durable. A repeated `client_message_id` stores nothing and answers the
    same; without one a repeat is another message.
    """
    scope = await tenant(request)
    body = await read_body(request, AddMessage)
    added = await services_of(request).messages.append(scope, session_id, (body.as_new(),))
    result: AddedView = {
        "session_id": session_id,
        "message_count": added.live_count,
        "pending_tokens": added.pending_tokens,
    }
    return ok(result, telemetry(request, body.telemetry, "session.add_message"))


@router.post("/batch", responses=answers(BatchAddedView), summary="Add up to 100 messages")
async def add_messages(request: Request, session_id: str) -> Response:
    """Store messages in the order given, all of them or none. An empty list is fine."""
    scope = await tenant(request)
    body = await read_body(request, AddMessages)
    if repeated := body.repeated_ids():
        raise invalid_fields(
            (("messages", position, "client_message_id"), "is used twice in this batch", "repeated_id")
            for position in repeated
        )
    messages = [message.as_new() for message in body.messages]
    added = await services_of(request).messages.append(scope, session_id, messages)
    result: BatchAddedView = {
        "session_id": session_id,
        "message_count": added.live_count,
        "added": added.added,
        "pending_tokens": added.pending_tokens,
    }
    return ok(result, telemetry(request, body.telemetry, "session.batch_add_messages"))
