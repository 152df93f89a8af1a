"""The step that every commit shares: plan the cut and seal, inside the caller's transaction."""

from dataclasses import dataclass

from app.domain.archives import SealResult, Skipped, plan_cut, skip_reason
from app.domain.commits import CommitOptions, Trigger, metadata_of, remembers
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.storage import archives
from app.storage.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Sealing:
    """Seals sessions; max_attempts is how often each step of the work that follows is tried."""

    max_attempts: int

    async def seal(
        self,
        tx: Transaction,
        scope: Scope,
        session: Session,
        options: CommitOptions,
        *,
        trigger: Trigger = Trigger.REQUEST,
    ) -> SealResult:
        """Archive what the retention lets go, and queue the work on it. The session is locked in this transaction.

        The retention is remembered, also when there was nothing to archive; an idle commit archives all that it can
        and leaves what is remembered as it is.
        """
        wanted = await self._wanted(tx, scope, session, options, trigger)
        pairs = await archives.torn_tool_calls(tx, scope, session.id, wanted) if wanted > session.sealed_seq else []
        sealed, kept = await archives.seal(
            tx,
            scope,
            session.id,
            plan_cut(sealed_seq=session.sealed_seq, wanted=wanted, pairs=pairs),
            retention=None if trigger is Trigger.IDLE else options.retention,
            trigger=trigger,
            working_memory=remembers(options, session.memory_policy),
            extraction_metadata=metadata_of(options, session.memory_extraction_config),
            max_attempts=self.max_attempts,
        )
        return sealed or Skipped(skip_reason(live_count=session.live_count), kept)

    async def _wanted(
        self, tx: Transaction, scope: Scope, session: Session, options: CommitOptions, trigger: Trigger
    ) -> int:
        if trigger is Trigger.IDLE:
            return session.last_seq
        if options.retention.turns is None:
            return session.last_seq - options.retention.keep_recent_count
        return await archives.cut_by_turns(tx, scope, session, options.retention.turns)
