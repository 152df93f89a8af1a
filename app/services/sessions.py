"""Use cases of sessions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.auto_commit import AutoCommitPolicy
from app.domain.commits import check_memory_policy, normal_extraction_config
from app.domain.errors import AlreadyExists, Deadlock, NotFound, session_not_found
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.scope import Scope
from app.domain.sessions import ConfigChanges, Session, SpentTokens, check_session_name, new_session_name
from app.storage import deletion, idempotency, sessions
from app.storage.transaction import Database, Transaction

_DEADLOCK_TRIES: Final = 4
"""A worker renews the leases of its jobs in no order; a deletion that meets it the wrong way round goes again."""


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """A session and what models cost for it."""

    session: Session
    spent: SpentTokens


class Sessions:
    """Make, find, list and delete sessions."""

    def __init__(
        self, database: Database, now: Callable[[], datetime], *, session_policy: AutoCommitPolicy | None = None
    ) -> None:
        self._database = database
        self._now = now
        self._session_policy = session_policy

    @property
    def default_policy(self) -> Mapping[str, object] | None:
        """Return the policy for committing itself of a session that says nothing about it; None: it never does."""
        return self._session_policy.as_dict() if self._session_policy else None

    async def create(
        self,
        scope: Scope,
        name: str | None = None,
        *,
        memory_policy: Mapping[str, object] | None = None,
        auto_commit_policy: Mapping[str, object] | None = None,
        memory_extraction_config: Mapping[str, object] | None = None,
    ) -> Session:
        """Return a new session, under a fresh name where none is given.

        Raises: AlreadyExists, InvalidInput or Forbidden for a name that cannot be.
        """
        async with self._database.transaction(scope) as tx:
            return await self._create(
                tx,
                scope,
                name,
                memory_policy=memory_policy,
                auto_commit_policy=auto_commit_policy,
                memory_extraction_config=memory_extraction_config,
            )

    async def create_once(
        self,
        scope: Scope,
        name: str | None,
        request: KeyedRequest,
        reply: Callable[[Session], Mapping[str, object]],
        **policies: Mapping[str, object] | None,
    ) -> KeyedReply:
        """Make a session as `create` does, unless this very request was answered before; then answer the same.

        reply: makes the answer that is kept, in the transaction of the session. policies: as for `create`.
        Raises: Conflict when the key was used for another request; and as `create`.
        """
        async with self._database.transaction(scope) as tx:

            async def act() -> Mapping[str, object]:
                return reply(await self._create(tx, scope, name, **policies))

            return await idempotency.once(tx, scope, request, act)

    async def _create(
        self, tx: Transaction, scope: Scope, name: str | None, **policies: Mapping[str, object] | None
    ) -> Session:
        chosen = new_session_name(self._now()) if name is None else check_session_name(name)
        check_memory_policy(policies.get("memory_policy"))
        if config := policies.get("memory_extraction_config"):
            policies["memory_extraction_config"] = normal_extraction_config(config)
        if not await sessions.create(tx, scope, chosen, **policies):
            raise AlreadyExists(f"Session already exists: {chosen}", {"type": "session", "resource": chosen})
        return await _require(tx, scope, chosen)

    async def configure(self, scope: Scope, name: str, changes: ConfigChanges) -> Session:
        """Change when a session commits itself and what it says about extraction; return it as it is then.

        Fields of a policy that are not named stay; a session without a policy starts from the defaults.

        Raises: NotFound, InvalidInput.
        """
        config = changes.memory_extraction_config
        async with self._database.transaction(scope) as tx:
            session = await sessions.lock(tx, scope, name)
            if session is None:
                raise session_not_found(name)
            policy = session.auto_commit_policy
            if changes.auto_commit_policy is not None:
                policy = AutoCommitPolicy.stored({**(policy or {}), **changes.auto_commit_policy}).as_dict()
            await sessions.set_config(
                tx,
                scope,
                session.id,
                auto_commit_policy=None if changes.auto_commit_off else policy,
                memory_extraction_config=session.memory_extraction_config
                if config is None
                else normal_extraction_config(config),
            )
            return await _require(tx, scope, name)

    async def list_recent(self, scope: Scope, *, limit: int = 1000) -> list[Session]:
        """Return the caller's sessions, the one that spoke last first."""
        async with self._database.transaction(scope) as tx:
            return await sessions.list_recent(tx, scope, limit=limit)

    async def describe(self, scope: Scope, name: str, *, auto_create: bool = False) -> SessionDetails:
        """Return a session with its costs, making it where auto_create says so.

        Raises: NotFound.
        """
        async with self._database.transaction(scope) as tx:
            session = await sessions.get(tx, scope, name)
            if session is None and auto_create:
                await sessions.create(tx, scope, check_session_name(name), auto_commit_policy=self.default_policy)
                session = await sessions.get(tx, scope, name)
            if session is None:
                raise NotFound(f"Session {name} not found", {"type": "session", "resource": name})
            return SessionDetails(session, await sessions.spent_tokens(tx, scope, session.id))

    async def delete(self, scope: Scope, name: str) -> Mapping[str, int]:
        """Remove a session with its messages, archives, documents and jobs; return how many rows of each table went.

        A job that runs loses its session: what its model answers is written nowhere. What models cost stays known.

        Raises: NotFound, Unavailable.
        """
        for tries_left in reversed(range(_DEADLOCK_TRIES)):
            try:
                async with self._database.transaction(scope) as tx:
                    rows = await deletion.erase(tx, scope, name)
                break
            except Deadlock:
                if not tries_left:
                    raise
        if rows is None:
            raise session_not_found(name)
        return rows


async def _require(tx: Transaction, scope: Scope, name: str) -> Session:
    session = await sessions.get(tx, scope, name)
    if session is None:
        raise session_not_found(name)
    return session
