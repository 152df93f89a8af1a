"""Use cases of large tool outputs and inputs: found, read by range, searched."""

from typing import Final

from app.domain.errors import InvalidInput, NotFound, session_not_found
from app.domain.scope import Scope
from app.domain.tool_results.reading import Excerpt, Match, ToolResult, find_matches
from app.storage import sessions, tool_results
from app.storage.transaction import Database, Transaction

TO_THE_END: Final = -1


class ToolResults:
    """Read what is kept beside messages."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_newest(
        self, scope: Scope, session_name: str, *, tool_name: str | None = None, limit: int
    ) -> list[ToolResult]:
        """Return what a session keeps beside its messages, the newest first. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session_id = await _session_id(tx, scope, session_name)
            return await tool_results.list_newest(tx, scope, session_id, tool_name=tool_name, limit=limit)

    async def read(self, scope: Scope, session_name: str, tool_result_id: str, *, offset: int, limit: int) -> Excerpt:
        """Return `limit` characters from `offset` on, all that follow for -1; past the end there are none.

        Raises: NotFound, InvalidInput for numbers below.
        """
        if offset < 0 or limit < TO_THE_END:
            raise InvalidInput("offset must be at least 0, limit at least -1.", {"offset": offset, "limit": limit})
        async with self._database.transaction(scope, snapshot=True) as tx:
            session_id = await _session_id(tx, scope, session_name)
            result = await _require(tx, scope, session_id, tool_result_id)
            left = max(result.chars - offset, 0)
            length = left if limit == TO_THE_END else min(limit, left)
            if not length:
                return Excerpt(result, "", offset)
            content = await tool_results.content_range(tx, scope, session_id, result, offset=offset, length=length)
        return Excerpt(result, content, offset)

    async def search(
        self, scope: Scope, session_name: str, tool_result_id: str, wanted: str, *, limit: int, context_chars: int
    ) -> list[Match]:
        """Return where `wanted` stands in a text, letter for letter. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session_id = await _session_id(tx, scope, session_name)
            result = await _require(tx, scope, session_id, tool_result_id)
            content = await tool_results.content(tx, scope, session_id, result)
        return find_matches(content, wanted, limit=limit, context_chars=context_chars)


async def _session_id(tx: Transaction, scope: Scope, session_name: str) -> int:
    session = await sessions.get(tx, scope, session_name)
    if session is None:
        raise session_not_found(session_name)
    return session.id


async def _require(tx: Transaction, scope: Scope, session_id: int, tool_result_id: str) -> ToolResult:
    result = await tool_results.get(tx, scope, session_id, tool_result_id)
    if result is None:
        raise NotFound(f"Tool result not found: {tool_result_id}", {"type": "tool_result", "resource": tool_result_id})
    return result
