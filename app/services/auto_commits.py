"""Sessions that commit themselves: after a message that crosses a threshold, and when nothing is said for long."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog

from app.domain.archives import Sealed
from app.domain.auto_commit import AutoCommitPolicy, AutoCommitState, is_idle, should_commit
from app.domain.commits import CommitOptions, Trigger
from app.domain.errors import AppError
from app.domain.messages import Appended
from app.domain.retention import Retention, RetentionMode, TurnRetention
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.services.sealing import Sealing
from app.storage import archives, auto_commits, sessions
from app.storage.failures import DATABASE_ERRORS, sqlstate
from app.storage.transaction import Database, Transaction

SWEPT_AT_ONCE: Final = 200
log: Final = structlog.get_logger("cairn.auto_commit")


class AutoCommits:
    """Commit the sessions whose policy says so, one commit at a time: an archive in work holds the next."""

    def __init__(self, database: Database, sealing: Sealing, now: Callable[[], datetime]) -> None:
        self._database = database
        self._sealing = sealing
        self._now = now

    async def after_append(self, scope: Scope, session_name: str, appended: Appended) -> None:
        """Commit a session that a message made due. A failure is logged: the message is stored all the same."""
        if appended.auto_commit is None or not should_commit(appended.auto_commit, self._now()):
            return
        try:
            async with self._database.transaction(scope) as tx:
                session = await sessions.lock(tx, scope, session_name)
                if session is not None and await self._still_due(tx, scope, session):
                    await self._sealing.seal(tx, scope, session, _options(session), trigger=Trigger.THRESHOLD)
        except (AppError, *DATABASE_ERRORS) as error:
            log.warning(
                "auto_commit_failed", session=session_name, error_class=type(error).__name__, reason=_reason(error)
            )

    async def commit_idle(self) -> int:
        """Commit sessions in which nothing was said for as long as their policy waits; return how many were archived.

        All that is live goes; the window that a session remembers stays as it is. Any number of workers may do this
        at once: each session is looked at again under its lock.
        """
        async with self._database.statement(None) as statement:
            found = await auto_commits.idle_sessions(statement, limit=SWEPT_AT_ONCE)
        archived = 0
        for scope, session_name in found:
            try:
                archived += await self._commit_if_idle(scope, session_name)
            except (AppError, *DATABASE_ERRORS) as error:
                log.warning(
                    "idle_commit_failed", session=session_name, error_class=type(error).__name__, reason=_reason(error)
                )
        return archived

    async def _commit_if_idle(self, scope: Scope, session_name: str) -> bool:
        async with self._database.transaction(scope) as tx:
            session = await sessions.lock(tx, scope, session_name)
            if session is None or session.auto_commit_policy is None:
                return False
            policy = AutoCommitPolicy.stored(session.auto_commit_policy)
            if not is_idle(policy, session.last_message_at, self._now()) or await archives.work_is_open(
                tx, scope, session.id
            ):
                return False
            sealed = await self._sealing.seal(tx, scope, session, CommitOptions(), trigger=Trigger.IDLE)
            return isinstance(sealed, Sealed)

    async def _still_due(self, tx: Transaction, scope: Scope, session: Session) -> bool:
        """Return whether a session is due now that it is locked: another writer may have been first."""
        if session.auto_commit_policy is None or await archives.work_is_open(tx, scope, session.id):
            return False
        by_turns = session.retention_mode == RetentionMode.TURN_BUDGET
        edge = (
            await archives.cut_by_turns(tx, scope, session, _turns(session))
            if by_turns
            else session.last_seq - session.keep_recent_count
        )
        state = AutoCommitState(
            policy=AutoCommitPolicy.stored(session.auto_commit_policy),
            live_count=session.live_count,
            outside_window=max(edge - session.sealed_seq, 0),
            pending_tokens=session.pending_tokens,
            last_auto_commit_at=session.last_auto_commit_at,
            by_turns=by_turns,
        )
        return should_commit(state, self._now())


def _options(session: Session) -> CommitOptions:
    """Return what a commit for a threshold keeps: the policy's window, or the turns where the session keeps turns."""
    policy = AutoCommitPolicy.stored(session.auto_commit_policy or {})
    if session.retention_mode == RetentionMode.TURN_BUDGET:
        return CommitOptions(Retention(session.keep_recent_count, _turns(session)))
    return CommitOptions(Retention(policy.keep_recent_count))


def _turns(session: Session) -> TurnRetention:
    return TurnRetention(
        session.keep_recent_turn_count, session.retained_message_token_budget, session.min_raw_tail_steps
    )


def _reason(error: Exception) -> str | None:
    """Return words of our own, else the state PostgreSQL names: its words may quote what somebody said."""
    return error.message if isinstance(error, AppError) else sqlstate(error)
