"""What a client sends to add messages."""

from collections.abc import Mapping
from typing import Annotated, Final

from annotated_types import MaxLen
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.fields import Body, ClientMessageId, IsoTime, PeerId, ShortText, TelemetryWish, parse_time
from app.api.schemas.parts import MessagePart
from app.domain.messages import MessageRole, NewMessage, Part

MAX_BATCH: Final = 100

_GIVEN_BACK: Final = ("created_at", "turn_id", "message_kind", "source_message_ids")
"""Fields about a message that are stored as the client wrote them and shown again unchanged."""


class AddMessage(Body):
    """One message: a role, and either `content` (one text) or `parts`. Parts win when both are there."""

    role: MessageRole
    content: str | None = None
    parts: list[MessagePart] | None = None
    created_at: IsoTime | None = None
    peer_id: PeerId | None = None
    turn_id: ShortText | None = None
    message_kind: ShortText | None = None
    source_message_ids: Annotated[list[ShortText], MaxLen(1000)] | None = None
    client_message_id: ClientMessageId | None = None
    telemetry: TelemetryWish = None

    @model_validator(mode="after")
    def _says_something(self) -> "AddMessage":
        if self.content is None and self.parts is None:
            raise PydanticCustomError("content_or_parts", "content or parts is required")
        return self

    def as_new(self) -> NewMessage:
        """Return the message in the words of the domain."""
        return NewMessage(
            role=self.role,
            parts=self._parts(),
            peer_id=self.peer_id,
            said_at=parse_time(self.created_at) if self.created_at is not None else None,
            client_message_id=self.client_message_id,
            attributes=self._attributes(),
        )

    def _parts(self) -> tuple[Part, ...]:
        if self.parts:
            return tuple(self.parts)
        if self.content or self.parts is None:
            return ({"type": "text", "text": self.content or ""},)
        return ()

    def _attributes(self) -> Mapping[str, object]:
        return {name: value for name in _GIVEN_BACK if (value := getattr(self, name)) is not None}


class AddMessages(Body):
    """Up to 100 messages that are stored together or not at all."""

    messages: Annotated[list[AddMessage], MaxLen(MAX_BATCH)]
    telemetry: TelemetryWish = None

    def repeated_ids(self) -> list[int]:
        """Return the positions of messages whose client_message_id stands earlier in the batch."""
        seen: set[str] = set()
        repeated = []
        for position, message in enumerate(self.messages):
            if message.client_message_id in seen:
                repeated.append(position)
            if message.client_message_id is not None:
                seen.add(message.client_message_id)
        return repeated
