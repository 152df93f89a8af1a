"""Large texts of tools as they are read back: by range, and by what they say."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What is known of a text that is kept beside a message."""

    tool_result_id: str
    seq: int
    message_id: UUID
    peer_id: str | None
    tool_id: str | None
    tool_name: str | None
    direction: str
    content_sha256: bytes
    mime_type: str
    kind: str
    synopsis: str
    chars: int
    preview_chars: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A range of a text, in characters (Unicode code points)."""

    result: ToolResult
    content: str
    offset: int

    @property
    def has_more(self) -> bool:
        return self.offset + len(self.content) < self.result.chars


@dataclass(frozen=True, slots=True)
class Match:
    """Where a text was found, in characters from the beginning, and what stands around it."""

    offset: int
    snippet: str


def find_matches(text: str, wanted: str, *, limit: int, context_chars: int) -> list[Match]:
    """Return where `wanted` stands, letter for letter and without overlaps, the first `limit` places."""
    return [
        Match(offset, text[max(offset - context_chars, 0) : offset + len(wanted) + context_chars])
        for offset in islice(_places(text, wanted), limit)
    ]


def _places(text: str, wanted: str) -> Iterator[int]:
    offset = text.find(wanted) if wanted else -1
    while offset >= 0:
        yield offset
        offset = text.find(wanted, offset + len(wanted))
