"""Use cases of messages."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.auto_commit import AutoCommitPolicy
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.messages import Appended, NewMessage, countable_text
from app.domain.scope import Scope
from app.domain.sessions import check_session_name
from app.domain.tokens import TokenCounter
from app.domain.tool_results.externalising import NewToolResult, ToolResultLimits, externalise, reference
from app.services.auto_commits import AutoCommits
from app.storage import idempotency, messages, tool_results
from app.storage.transaction import Database, statement_in

LARGE_CHARACTERS: Final = 50_000
"""Counting takes a microsecond for a line and up to a second for a megabyte of dashes."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Messages as they are stored, with their tokens, and the large texts of tools that are kept beside them."""

    messages: Sequence[NewMessage]
    tokens: Sequence[int]
    results: Sequence[NewToolResult]


class Messages:
    """Append messages: counted, in order, all of them or none.

    A tool's output or input that is too large for its message is stored with it, in the same transaction; the message
    shows a preview, and what is counted is what is shown.
    """

    def __init__(
        self,
        database: Database,
        count_tokens: TokenCounter,
        auto_commits: AutoCommits,
        *,
        session_policy: AutoCommitPolicy | None = None,
        limits: ToolResultLimits,
    ) -> None:
        self._database = database
        self._count_tokens = count_tokens
        self._auto_commits = auto_commits
        self._session_policy = session_policy
        self._limits = limits

    async def append(self, scope: Scope, session_name: str, new: Sequence[NewMessage]) -> Appended:
        """Store messages at the end of a session, which is made with the first of them.

        When this returns the messages are durable. A message whose client_message_id is known already is not stored
        again and answers its first seq. A session that its policy calls due is committed before this returns; whether
        that goes well does not matter to the messages.

        Raises: Conflict when a client_message_id was used with another body, InvalidInput or Forbidden for a session
        name that cannot be, Unavailable.
        """
        check_session_name(session_name)
        prepared = await self._prepared(scope, session_name, new)
        async with self._database.statement(scope) as statement:
            appended = await messages.append(
                statement,
                scope,
                session_name,
                prepared.messages,
                prepared.tokens,
                session_policy=self._session_policy,
                results=prepared.results,
            )
        await self._auto_commits.after_append(scope, session_name, appended)
        return appended

    async def append_once(
        self,
        scope: Scope,
        session_name: str,
        new: Sequence[NewMessage],
        request: KeyedRequest,
        reply: Callable[[Appended], Mapping[str, object]],
    ) -> KeyedReply:
        """Store messages as `append` does, unless this very request was answered before; then answer the same.

        reply: makes the answer that is kept, in the transaction of the messages.
        Raises: Conflict also when the key was used for another request; and as `append`.
        """
        check_session_name(session_name)
        prepared = await self._prepared(scope, session_name, new)
        done: list[Appended] = []
        async with self._database.transaction(scope) as tx:

            async def act() -> Mapping[str, object]:
                statement = await statement_in(tx, scope)
                appended = await messages.append(
                    statement,
                    scope,
                    session_name,
                    prepared.messages,
                    prepared.tokens,
                    session_policy=self._session_policy,
                    results=prepared.results,
                )
                done.append(appended)
                return reply(appended)

            answer = await idempotency.once(tx, scope, request, act)
        for appended in done:
            await self._auto_commits.after_append(scope, session_name, appended)
        return answer

    async def _prepared(self, scope: Scope, session_name: str, new: Sequence[NewMessage]) -> _Prepared:
        """Take out what is too large. What the session keeps already, from whichever tool, keeps its id."""

        def address(tool_result_id: str) -> str:
            return reference(session_name, tool_result_id)

        taken = externalise(new, self._limits, address)
        if taken.results:
            hashes = {result.sha256 for result in taken.results}
            async with self._database.transaction(scope) as tx:
                known = await tool_results.ids_by_content(tx, scope, session_name, hashes)
            if known:
                taken = externalise(new, self._limits, address, known)
        return _Prepared(taken.messages, await self._counted(taken.messages), taken.results)

    async def _counted(self, new: Sequence[NewMessage]) -> list[int]:
        """Return the tokens of each message; large ones are counted beside the loop, which others wait for."""
        texts = [countable_text(message.parts) for message in new]
        if sum(map(len, texts)) < LARGE_CHARACTERS:
            return [self._count_tokens(text) for text in texts]
        return await asyncio.to_thread(lambda: [self._count_tokens(text) for text in texts])
