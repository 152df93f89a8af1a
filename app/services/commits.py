"""The first half of a commit: seal what is live. No model is asked and no message is touched."""

from collections.abc import Callable, Mapping
from typing import Final

from app.domain.archives import SealResult
from app.domain.commits import CommitOptions
from app.domain.errors import session_not_found
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.scope import Scope
from app.services.sealing import Sealing
from app.storage import idempotency, sessions
from app.storage.transaction import Database, Transaction

EVERYTHING: Final = CommitOptions()


class Commits:
    """Seal sessions; a worker does the rest."""

    def __init__(self, database: Database, sealing: Sealing) -> None:
        self._database = database
        self._sealing = sealing

    async def seal(self, scope: Scope, session_name: str, options: CommitOptions = EVERYTHING) -> SealResult:
        """Archive the live messages but those that the options keep, and queue the work on them.

        What is kept is remembered, also when there was nothing to archive. Archive, jobs and counters are one
        transaction: when this returns the work will be done, whatever happens to this process.

        Raises: NotFound, Unavailable.
        """
        async with self._database.transaction(scope) as tx:
            return await self._seal(tx, scope, session_name, options)

    async def seal_once(
        self,
        scope: Scope,
        session_name: str,
        options: CommitOptions,
        request: KeyedRequest,
        reply: Callable[[SealResult], Mapping[str, object]],
    ) -> KeyedReply:
        """Seal as `seal` does, unless this very request was answered before; then answer the same.

        reply: makes the answer that is kept, in the transaction of the archive.
        Raises: Conflict when the key was used for another request; and as `seal`.
        """
        async with self._database.transaction(scope) as tx:

            async def act() -> Mapping[str, object]:
                return reply(await self._seal(tx, scope, session_name, options))

            return await idempotency.once(tx, scope, request, act)

    async def _seal(self, tx: Transaction, scope: Scope, session_name: str, options: CommitOptions) -> SealResult:
        session = await sessions.lock(tx, scope, session_name)
        if session is None:
            raise session_not_found(session_name)
        return await self._sealing.seal(tx, scope, session, options)
