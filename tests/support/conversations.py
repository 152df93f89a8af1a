"""Messages for tests, as short to write as what they say."""

from app.domain.messages import MessageRole, NewMessage


def said(text: str = "hello", *, by: MessageRole = MessageRole.USER, client_id: str | None = None) -> NewMessage:
    """A message of text."""
    return NewMessage(by, ({"type": "text", "text": text},), client_message_id=client_id)


def answered(text: str = "I see.") -> NewMessage:
    """A message of the assistant."""
    return said(text, by=MessageRole.ASSISTANT)


def calls(*tool_ids: str) -> NewMessage:
    """An assistant's message that calls tools and has no answer yet."""
    parts = tuple({"type": "tool", "tool_id": i, "tool_name": "read", "tool_status": "pending"} for i in tool_ids)
    return NewMessage(MessageRole.ASSISTANT, parts)


def results(*tool_ids: str) -> NewMessage:
    """The answers of tools, in the shape hosts send them: a user's message that only transports."""
    parts = tuple(
        {"type": "tool", "tool_id": i, "tool_name": "read", "tool_status": "completed", "tool_output": "done"}
        for i in tool_ids
    )
    return NewMessage(MessageRole.USER, parts, attributes={"message_kind": "tool_transport"})
