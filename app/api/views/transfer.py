"""The lines of an export, as `app/api/schemas/transfer.py` reads them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson
from typing_extensions import TypedDict

from app.api.envelope import encoded
from app.api.views.names import microseconds
from app.domain.transfer import (
    FORMAT,
    VERSION,
    End,
    Head,
    MovedArchive,
    MovedDocument,
    MovedItem,
    MovedMessage,
    MovedToolResult,
    Record,
)


class ImportedSessionView(TypedDict):
    session_id: str
    messages: int
    archives: int


def lines(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield one JSON object per record, each with its line end; fields without a value are left out."""
    for record in records:
        line = {name: value for name, value in _line(record).items() if value is not None}
        yield encoded(line, _encoded) + b"\n"


def broken_line(reason: str) -> bytes:
    """Return the line in the place of the end of an export that could not be finished."""
    return orjson.dumps({"type": "broken", "reason": reason}, option=orjson.OPT_APPEND_NEWLINE)


def _encoded(value: object) -> object:
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


def _line(record: Record) -> Mapping[str, Any]:
    match record:
        case Head():
            return _head(record)
        case MovedMessage():
            return _message(record)
        case MovedArchive():
            return {"type": "archive", **asdict(record)}
        case MovedDocument():
            return {"type": "document", **asdict(record)}
        case MovedItem():
            return {"type": "deferred", **asdict(record)}
        case MovedToolResult():
            return {"type": "tool_result", **asdict(record)}
        case End():
            return {"type": "end", **asdict(record)}


def _head(head: Head) -> Mapping[str, Any]:
    values = asdict(head)
    retention = values.pop("retention")
    return {
        "type": "session",
        "format": FORMAT,
        "version": VERSION,
        "session_id": values.pop("name"),
        "keep_recent_count": retention["keep_recent_count"],
        "turns": retention["turns"],
        **values,
    }


def _message(message: MovedMessage) -> Mapping[str, Any]:
    new = message.new
    return {
        "type": "message",
        "seq": message.seq,
        "id": f"msg_{new.message_id.hex}" if new.message_id else None,
        "role": new.role.value,
        "parts": list(new.parts),
        "peer_id": new.peer_id,
        "said_at": new.said_at,
        "origin": new.origin,
        "client_message_id": new.client_message_id,
        "body_sha256": new.stored_hash,
        **new.attributes,
    }
