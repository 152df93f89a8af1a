"""Messages and their parts, and what of them is counted, hashed and read by a model.

A part is kept as it was sent: known fields have a meaning here, unknown ones and unknown types are carried along.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Final, TypeAlias
from uuid import UUID

from app.domain.auto_commit import AutoCommitState

Part: TypeAlias = Mapping[str, object]

ANSWERED: Final = frozenset({"completed", "error", "failed", "cancelled"})
"""Values of tool_status after which no further result will come."""

_WRITTEN_WITH_EXPONENT: Final = 1e16


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to be stored.

    attributes holds what the client said about the message beside role and parts (created_at as written, turn_id,
    message_kind, source_message_ids) and is given back unchanged. message_id and stored_hash are those of a message
    that was stored elsewhere before; others get them here.
    """

    role: MessageRole
    parts: tuple[Part, ...]
    peer_id: str | None = None
    said_at: datetime | None = None
    origin: str | None = None
    client_message_id: str | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    message_id: UUID | None = None
    stored_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is kept."""

    seq: int
    message_id: UUID
    role: MessageRole
    parts: tuple[Part, ...]
    tokens: int
    said_at: datetime
    peer_id: str | None = None
    origin: str = "client"
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append came to; seqs answers the messages in the order they were given.

    auto_commit: what decides whether the session is due, where it has a policy for committing itself.
    """

    seqs: tuple[int, ...]
    added: int
    live_count: int
    pending_tokens: int
    auto_commit: AutoCommitState | None = None

    @property
    def replayed(self) -> tuple[bool, ...]:
        """Return for each message whether it had been stored before: new ones took the highest seqs."""
        fresh = set(sorted(set(self.seqs))[len(set(self.seqs)) - self.added :])
        return tuple(seq not in fresh for seq in self.seqs)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool part by position of its message in a batch: a call that waits, or a result."""

    position: int
    tool_id: str
    is_result: bool


def as_kept(value: object) -> object:
    """Return a JSON value as the database gives it back: shorter keys first, large numbers without an exponent.

    What is counted is what a reader gets, to the token.
    """
    match value:
        case dict():
            return {key: as_kept(value[key]) for key in sorted(value, key=_key_order)}
        case list():
            return [as_kept(member) for member in value]
        case float() if abs(value) >= _WRITTEN_WITH_EXPONENT and isfinite(value):
            return int(Decimal(repr(value)))
        case _:
            return value


def _key_order(key: str) -> tuple[int, bytes]:
    encoded = key.encode("utf-8", "surrogatepass")
    return len(encoded), encoded


def _json(value: object) -> str:
    return json.dumps(as_kept(value), ensure_ascii=False)


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _countable(part: Part) -> Iterator[str]:
    match part.get("type"):
        case "text":
            yield _text_of(part.get("text"))
        case "context":
            yield _text_of(part.get("abstract"))
        case "tool":
            yield _text_of(part.get("tool_id"))
            yield _text_of(part.get("tool_name"))
            if part.get("tool_input"):
                yield _text_of(part["tool_input"])
            yield _text_of(part.get("tool_output"))
        case "image" | "image_url":
            return
        case _:
            yield part["text"] if isinstance(part.get("text"), str) else _json(part)  # type: ignore[misc]


def countable_text(parts: Sequence[Part]) -> str:
    """Return the text whose tokens are the tokens of a message: everything a model may be shown, images excepted."""
    return "".join(piece for part in parts for piece in _countable(part))


def is_result(part: Part) -> bool:
    """Return whether a tool part carries its answer, by its status or because an output is there."""
    return part.get("tool_status") in ANSWERED or bool(part.get("tool_output"))


def tool_uses(messages: Sequence[NewMessage | StoredMessage]) -> list[ToolUse]:
    """Return every tool part that has an id, with the position of its message (from 0)."""
    uses = []
    for position, message in enumerate(messages):
        for part in message.parts:
            tool_id = part.get("tool_id")
            if part.get("type") == "tool" and isinstance(tool_id, str) and tool_id:
                uses.append(ToolUse(position, tool_id, is_result(part)))
    return uses


def transports_results(message: NewMessage | StoredMessage) -> bool:
    """Return whether a message only carries results of tools to the assistant."""
    kind = message.attributes.get("message_kind")
    if kind in {"user_query", "tool_transport"}:
        return kind == "tool_transport"
    only_tools = bool(message.parts) and all(part.get("type") == "tool" for part in message.parts)
    return message.role is MessageRole.TOOL or (message.role is MessageRole.USER and only_tools)


def is_user_turn(message: NewMessage | StoredMessage) -> bool:
    """Return whether a person speaks: a user message that is not merely the transport of tool results."""
    if message.attributes.get("message_kind") == "user_query":
        return True
    return message.role is MessageRole.USER and not transports_results(message)


def opens(message: NewMessage) -> str | None:
    """Return what a message begins: 'turn' for a person's, None for results of tools, 'step' for everything else."""
    if is_user_turn(message):
        return "turn"
    return None if transports_results(message) else "step"


def body_sha256(message: NewMessage) -> bytes:
    """Return the fingerprint by which a repeat of a client_message_id is told from another body under the same id."""
    body = [
        message.role.value,
        list(message.parts),
        message.peer_id,
        message.said_at.isoformat() if message.said_at else None,
        dict(message.attributes),
    ]
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False, default=dict).encode()).digest()


def readable_text(parts: Sequence[Part]) -> str:
    """Return a message as a model reads it: text first to last, tool parts with name, status, input and output."""
    return "\n".join(filter(None, (_readable(part) for part in parts)))


def _readable(part: Part) -> str:
    match part.get("type"):
        case "text":
            return _text_of(part.get("text"))
        case "context":
            return f"[context] {_text_of(part.get('abstract'))}" if part.get("abstract") else ""
        case "tool":
            head = f"[tool {_text_of(part.get('tool_name')) or 'unnamed'}: {part.get('tool_status') or 'pending'}]"
            given = f"input: {_text_of(part['tool_input'])}" if part.get("tool_input") else ""
            output = f"output: {_text_of(part.get('tool_output'))}" if part.get("tool_output") else ""
            return "\n".join(filter(None, (head, given, output)))
        case "image" | "image_url":
            return "[image]"
        case _:
            text = part.get("text")
            return text if isinstance(text, str) else _json(part)
