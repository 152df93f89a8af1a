"""The first half of a commit: seal what is live. No model is asked and no message is touched."""

from collections.abc import Callable, Mapping

from app.domain.archives import Sealed, SealResult, Skipped, plan_cut, skip_reason
from app.domain.errors import InvalidInput, session_not_found
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.scope import Scope
from app.domain.sessions import MAX_KEEP_RECENT
from app.storage import archives, idempotency, sessions
from app.storage.transaction import Database, Transaction


class Commits:
    """Seal sessions; a worker does the rest."""

    def __init__(self, database: Database, *, max_attempts: int) -> None:
        self._database = database
        self._max_attempts = max_attempts

    async def seal(
        self, scope: Scope, session_name: str, keep_recent_count: int = 0, *, trigger: str = "request"
    ) -> SealResult:
        """Archive the live messages but the newest keep_recent_count, and queue the work on them.

        The window is remembered, also when there was nothing to archive. Archive, jobs and counters are one
        transaction: when this returns the work will be done, whatever happens to this process.

        Raises: NotFound, InvalidInput, Unavailable.
        """
        _check_window(keep_recent_count)
        async with self._database.transaction(scope) as tx:
            return await self._seal(tx, scope, session_name, keep_recent_count, trigger=trigger)

    async def seal_once(
        self,
        scope: Scope,
        session_name: str,
        keep_recent_count: int,
        request: KeyedRequest,
        reply: Callable[[SealResult], Mapping[str, object]],
    ) -> KeyedReply:
        """Seal as `seal` does, unless this very request was answered before; then answer the same.

        reply: makes the answer that is kept, in the transaction of the archive.
        Raises: Conflict when the key was used for another request; and as `seal`.
        """
        _check_window(keep_recent_count)
        async with self._database.transaction(scope) as tx:

            async def act() -> Mapping[str, object]:
                return reply(await self._seal(tx, scope, session_name, keep_recent_count, trigger="request"))

            return await idempotency.once(tx, scope, request, act)

    async def _seal(
        self, tx: Transaction, scope: Scope, session_name: str, keep_recent_count: int, *, trigger: str
    ) -> SealResult:
        session = await sessions.lock(tx, scope, session_name)
        if session is None:
            raise session_not_found(session_name)
        wanted = session.last_seq - keep_recent_count
        pairs = await archives.torn_tool_calls(tx, scope, session.id, wanted) if wanted > session.sealed_seq else []
        cut = plan_cut(
            sealed_seq=session.sealed_seq,
            last_seq=session.last_seq,
            keep_recent_count=keep_recent_count,
            pairs=pairs,
        )
        sealed: Sealed | None = await archives.seal(
            tx,
            scope,
            session.id,
            cut,
            keep_recent_count=keep_recent_count,
            trigger=trigger,
            max_attempts=self._max_attempts,
        )
        return sealed or Skipped(skip_reason(live_count=session.live_count))


def _check_window(keep_recent_count: int) -> None:
    if not 0 <= keep_recent_count <= MAX_KEEP_RECENT:
        raise InvalidInput(
            f"keep_recent_count must be between 0 and {MAX_KEEP_RECENT}.", {"field": "keep_recent_count"}
        )
