"""Use cases of messages."""

from collections.abc import Callable, Mapping, Sequence

from app.domain.auto_commit import AutoCommitPolicy
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.messages import Appended, NewMessage, countable_text
from app.domain.scope import Scope
from app.domain.sessions import check_session_name
from app.domain.tokens import TokenCounter
from app.services.auto_commits import AutoCommits
from app.storage import idempotency, messages
from app.storage.transaction import Database, statement_in


class Messages:
    """Append messages: counted, in order, all of them or none."""

    def __init__(
        self,
        database: Database,
        count_tokens: TokenCounter,
        auto_commits: AutoCommits,
        *,
        session_policy: AutoCommitPolicy | None = None,
    ) -> None:
        self._database = database
        self._count_tokens = count_tokens
        self._auto_commits = auto_commits
        self._session_policy = session_policy

    async def append(self, scope: Scope, session_name: str, new: Sequence[NewMessage]) -> Appended:
        """Store messages at the end of a session, which is made with the first of them.

        When this returns the messages are durable. A message whose client_message_id is known already is not stored
        again and answers its first seq. A session that its policy calls due is committed before this returns; whether
        that goes well does not matter to the messages.

        Raises: Conflict when a client_message_id was used with another body, InvalidInput or Forbidden for a session
        name that cannot be, Unavailable.
        """
        check_session_name(session_name)
        counts = [self._count_tokens(countable_text(message.parts)) for message in new]
        async with self._database.statement(scope) as statement:
            appended = await messages.append(
                statement, scope, session_name, new, counts, session_policy=self._session_policy
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
        counts = [self._count_tokens(countable_text(message.parts)) for message in new]
        done: list[Appended] = []
        async with self._database.transaction(scope) as tx:

            async def act() -> Mapping[str, object]:
                statement = await statement_in(tx, scope)
                appended = await messages.append(
                    statement, scope, session_name, new, counts, session_policy=self._session_policy
                )
                done.append(appended)
                return reply(appended)

            answer = await idempotency.once(tx, scope, request, act)
        for appended in done:
            await self._auto_commits.after_append(scope, session_name, appended)
        return answer
