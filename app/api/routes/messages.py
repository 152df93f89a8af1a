"""Add messages: the busiest routes of the server."""

from functools import partial
from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import services_of, tenant
from app.api.body import read_body, refuse_large_messages
from app.api.envelope import answers, ok, telemetry
from app.api.errors import invalid_fields
from app.api.hot_route import HotRoute
from app.api.idempotency import keyed_request, ok_keyed
from app.api.schemas.messages import AddMessage, AddMessages
from app.api.views.messages import AddedView, BatchAddedView, added_view, batch_added_view

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/messages", tags=["messages"], route_class=HotRoute)


@router.post("", responses=answers(AddedView), summary="Add a message")
async def add_message(request: Request, session_id: str) -> Response:
    """Store one message at the end of a session; the session is made with its first message.

    When the answer is there, the message is durable. A repeated `client_message_id` or `Idempotency-Key` stores
    nothing and answers the same; without one a repeat is another message.
    """
    scope = await tenant(request)
    body = await read_body(request, AddMessage)
    refuse_large_messages(request, [body])
    messages, new = services_of(request).messages, (body.as_new(),)
    keyed, view = keyed_request(request, body), partial(added_view, session_id)
    if keyed is None:
        result = view(await messages.append(scope, session_id, new))
        return ok(result, telemetry(request, body.telemetry, "session.add_message"))
    reply = await messages.append_once(scope, session_id, new, keyed, view)
    return ok_keyed(reply, telemetry(request, body.telemetry, "session.add_message"))


@router.post("/batch", responses=answers(BatchAddedView), summary="Add up to 100 messages")
async def add_messages(request: Request, session_id: str) -> Response:
    """Store messages in the order given, all of them or none. An empty list is fine.

    Where messages have a `client_message_id`, `cairn.messages` says the place of each in the session, and whether it
    had been stored before. With an `Idempotency-Key` a repeat of the whole request does nothing and answers the same.
    """
    scope = await tenant(request)
    body = await read_body(request, AddMessages)
    refuse_large_messages(request, body.messages, ("messages",))
    if repeated := body.repeated_ids():
        raise invalid_fields(
            (("messages", position, "client_message_id"), "is used twice in this batch", "repeated_id")
            for position in repeated
        )
    new = [message.as_new() for message in body.messages]
    messages = services_of(request).messages
    keyed, view = keyed_request(request, body), partial(batch_added_view, session_id, new)
    if keyed is None:
        result = view(await messages.append(scope, session_id, new))
        return ok(result, telemetry(request, body.telemetry, "session.batch_add_messages"))
    reply = await messages.append_once(scope, session_id, new, keyed, view)
    return ok_keyed(reply, telemetry(request, body.telemetry, "session.batch_add_messages"))
