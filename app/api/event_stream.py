"""Server-sent events: one text per event, with an id by which a client that comes back says what it has seen."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import orjson
from starlette.responses import StreamingResponse

from app.api.envelope import answers

SIGN_OF_LIFE: Final = ": still here\n\n"
RECONNECT: Final = "retry: 2000\n\n"

_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def event_id(view: Mapping[str, Any]) -> str:
    """Return the id of a state: equal for equal states, also in another process and after a restart."""
    return hashlib.sha256(orjson.dumps(view)).hexdigest()[:16]


def event(name: str, view: Mapping[str, Any]) -> str:
    """Return one event. JSON in one line: a line break in a text is escaped there."""
    return f"id: {event_id(view)}\nevent: {name}\ndata: {orjson.dumps(view).decode()}\n\n"


class EventStream(StreamingResponse):
    """Sends events as they come and ends with them, or with the client."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], status_code: int = 200) -> None:
        super().__init__(events, status_code, headers=_HEADERS)


def events_of(view: Any) -> dict[int | str, dict[str, Any]]:
    """Return what the documentation of a route says whose events each hold one view. Its class is EventStream."""
    return {
        **answers(view),
        200: {"model": view, "description": "Events named `task`, as they happen; the data of each is one of these."},
        204: {"description": "It has ended, and the client has seen how."},
    }
