"""Messages as clients read them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NotRequired
from uuid import UUID

from typing_extensions import TypedDict

from app.api.views.names import canonical_uri, microseconds
from app.domain.messages import Appended, NewMessage, Part, StoredMessage
from app.domain.scope import Scope

_ALWAYS_THERE: Final[Mapping[str, Mapping[str, object]]] = {
    "text": {"text": ""},
    "context": {"uri": "", "context_type": "", "abstract": ""},
    "tool": {"tool_id": "", "tool_name": "", "tool_uri": "", "skill_uri": "", "tool_status": "pending"},
}
"""Fields of a part that clients read without looking whether they are there."""


class AddedView(TypedDict):
    session_id: str
    message_count: int
    pending_tokens: int


class PlacedView(TypedDict):
    client_message_id: str | None
    seq: int
    replayed: bool


class BatchAdditions(TypedDict):
    """What only Cairn says about a batch: where each message stands, and whether it had been stored before."""

    messages: list[PlacedView]


class BatchAddedView(TypedDict):
    session_id: str
    message_count: int
    added: int
    pending_tokens: int
    cairn: NotRequired[BatchAdditions]


class MessageView(TypedDict):
    id: str
    role: str
    parts: list[dict[str, Any]]
    created_at: str
    peer_id: NotRequired[str]
    turn_id: NotRequired[str]
    message_kind: NotRequired[str]
    source_message_ids: NotRequired[list[str]]


def added_view(session_name: str, added: Appended) -> AddedView:
    return {
        "session_id": session_name,
        "message_count": added.live_count,
        "pending_tokens": added.pending_tokens,
    }


def batch_added_view(session_name: str, new: Sequence[NewMessage], added: Appended) -> BatchAddedView:
    """Return what a batch came to; the places of its messages where any of them has an id of the client's."""
    view: BatchAddedView = {
        "session_id": session_name,
        "message_count": added.live_count,
        "added": added.added,
        "pending_tokens": added.pending_tokens,
    }
    if any(message.client_message_id for message in new):
        view["cairn"] = {
            "messages": [
                {"client_message_id": message.client_message_id, "seq": seq, "replayed": replayed}
                for message, seq, replayed in zip(new, added.seqs, added.replayed, strict=True)
            ]
        }
    return view


def message_views(scope: Scope, messages: Iterable[StoredMessage]) -> list[MessageView]:
    return [message_view(scope, message) for message in messages]


def message_id(identifier: UUID) -> str:
    return f"msg_{identifier.hex}"


def message_view(scope: Scope, message: StoredMessage) -> MessageView:
    """Return a message; its time is what the client wrote, else when it was stored."""
    said: Mapping[str, Any] = message.attributes
    view: MessageView = {
        "id": message_id(message.message_id),
        "role": message.role.value,
        "parts": [part_view(scope, part) for part in message.parts],
        "created_at": said.get("created_at") or microseconds(message.said_at),
    }
    if message.peer_id is not None:
        view["peer_id"] = message.peer_id
    if "turn_id" in said:
        view["turn_id"] = said["turn_id"]
    if "message_kind" in said:
        view["message_kind"] = said["message_kind"]
    if "source_message_ids" in said:
        view["source_message_ids"] = said["source_message_ids"]
    return view


def part_view(scope: Scope, part: Part) -> dict[str, Any]:
    """Return a part as it was sent, with the fields that its type always has."""
    kind = part.get("type")
    always = _ALWAYS_THERE.get(kind) if isinstance(kind, str) else None
    if always is None:
        return dict(part)
    view = {"type": kind, **always, **{name: value for name, value in part.items() if value is not None}}
    if kind == "context" and isinstance(view["uri"], str):
        view["uri"] = canonical_uri(scope, view["uri"])
    return view
