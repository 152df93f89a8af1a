"""Messages as they come back from the database, for tests that need none."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from app.domain.messages import NewMessage, StoredMessage, countable_text, tool_uses
from app.domain.tokens import TokenCounter


def stored(messages: Sequence[NewMessage], count_tokens: TokenCounter) -> list[StoredMessage]:
    """Return the messages with seqs from 1 and their tokens."""
    return [
        StoredMessage(
            seq=seq,
            message_id=UUID(int=seq),
            role=message.role,
            parts=message.parts,
            tokens=count_tokens(countable_text(message.parts)),
            said_at=datetime(2031, 1, 1, tzinfo=UTC),
            attributes=message.attributes,
        )
        for seq, message in enumerate(messages, 1)
    ]


def tool_pairs(messages: Sequence[NewMessage]) -> list[tuple[int, int]]:
    """Return the seqs of each call and its result: a result belongs to the oldest call of its id that waits."""
    waiting: dict[str, list[int]] = {}
    found = []
    for use in tool_uses(messages):
        if use.is_result and waiting.get(use.tool_id):
            found.append((waiting[use.tool_id].pop(0) + 1, use.position + 1))
        elif not use.is_result:
            waiting.setdefault(use.tool_id, []).append(use.position)
    return found
