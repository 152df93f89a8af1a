"""Archives as rows: sealing, reading."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.domain.archives import Archive, Sealed, StepOutcome, ToolPair
from app.domain.commits import Trigger
from app.domain.documents import BaseDocument
from app.domain.errors import StaleDocument
from app.domain.retention import Kept, Retention, TurnRetention
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.storage import tables as t
from app.storage.transaction import Transaction

COLUMNS: Final = tuple(
    t.archives.c[name]
    for name in (
        "session_id", "archive_no", "task_id", "first_seq", "last_seq", "tokens", "trigger", "status", "outcome",
        "working_memory", "long_term_memory", "embedding", "abstract", "has_document", "document_revision",
        "document_source", "document_provider", "covers_from_seq", "created_at", "started_at", "finished_at",
    )
)  # fmt: skip
_SEAL: Final = sa.text(
    "SELECT archive_no, task_id, active_tokens, budget_exceeded FROM cairn.seal_archive("
    ":account, :session, :cut, :keep, :turns, :budget, :min_tail, :trigger, :working_memory, :long_term_memory,"
    " :metadata, :max_attempts)"
).bindparams(sa.bindparam("metadata", type_=JSONB(none_as_null=True)))
_PLAN_TURNS: Final = sa.text(
    "SELECT cut FROM cairn.plan_turns(:account, :session, :turns, :budget, :min_tail, :sealed_seq, :sealed_tokens,"
    " :anchor, :last_seq, :last_tokens, :last_user_seq, NULL, NULL)"
)
_TORN: Final = sa.text("SELECT call_seq, result_seq FROM cairn.torn_tool_calls(:account, :session, :cut)")


def archive_of(row: Mapping[Any, Any]) -> Archive:
    """Return the archive a row of COLUMNS holds."""
    values = dict(row)
    values["working_memory"] = StepOutcome(values["working_memory"])
    values["long_term_memory"] = StepOutcome(values["long_term_memory"])
    return Archive(**values)


def _of(scope: Scope, session_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(t.archives.c.account_id == scope.account_id, t.archives.c.session_id == session_id)


async def torn_tool_calls(tx: Transaction, scope: Scope, session_id: int, cut: int) -> list[ToolPair]:
    """Return the pairs of call and result that a cut after message `cut` would tear, directly or by moving back."""
    rows = await tx.execute(_TORN, {"account": scope.account_id, "session": session_id, "cut": cut})
    return [ToolPair(row.call_seq, row.result_seq) for row in rows]


async def cut_by_turns(tx: Transaction, scope: Scope, session: Session, turns: TurnRetention) -> int:
    """Return up to which message a commit that keeps whole turns archives; the session is locked."""
    arguments = {
        "account": scope.account_id,
        "session": session.id,
        "turns": turns.keep_turns,
        "budget": turns.token_budget,
        "min_tail": turns.min_tail_steps,
        "sealed_seq": session.sealed_seq,
        "sealed_tokens": session.sealed_tokens,
        "anchor": session.anchor_seq,
        "last_seq": session.last_seq,
        "last_tokens": session.last_tokens,
        "last_user_seq": session.last_user_seq,
    }
    return int((await tx.execute(_PLAN_TURNS, arguments)).scalar_one())


async def work_is_open(tx: Transaction, scope: Scope, session_id: int) -> bool:
    """Return whether an archive of the session is still being worked on, or waits for it."""
    unfinished = sa.exists().where(_of(scope, session_id), t.archives.c.status.in_(("pending", "running")))
    return bool((await tx.execute(sa.select(unfinished))).scalar_one())


async def seal(
    tx: Transaction,
    scope: Scope,
    session_id: int,
    cut: int,
    *,
    retention: Retention | None,
    trigger: Trigger = Trigger.REQUEST,
    working_memory: bool = True,
    extraction_metadata: Mapping[str, object] | None = None,
    max_attempts: int,
) -> tuple[Sealed | None, Kept]:
    """Archive the live messages up to `cut` and queue the work; None when there were none.

    Call with the session locked and the cut planned in the same transaction. The retention is remembered either way;
    None leaves what is remembered as it is.
    """
    turns = retention.turns if retention else None
    arguments = {
        "account": scope.account_id,
        "session": session_id,
        "cut": cut,
        "keep": retention.keep_recent_count if retention else None,
        "turns": turns.keep_turns if turns else None,
        "budget": turns.token_budget if turns else None,
        "min_tail": turns.min_tail_steps if turns else None,
        "trigger": trigger.value,
        "working_memory": working_memory,
        "long_term_memory": False,
        "metadata": extraction_metadata,
        "max_attempts": max_attempts,
    }
    row = (await tx.execute(_SEAL, arguments)).one()
    kept = Kept(row.active_tokens, row.budget_exceeded)
    return (None if row.archive_no is None else Sealed(row.archive_no, row.task_id, kept)), kept


async def get(tx: Transaction, scope: Scope, session_id: int, archive_no: int) -> Archive | None:
    query = sa.select(*COLUMNS).where(_of(scope, session_id), t.archives.c.archive_no == archive_no)
    row = (await tx.execute(query)).mappings().one_or_none()
    return archive_of(row) if row else None


async def list_all(tx: Transaction, scope: Scope, session_id: int, *, after: int = 0) -> list[Archive]:
    """Return the archives of a session, those after number `after`, the oldest first."""
    wanted = sa.and_(_of(scope, session_id), t.archives.c.archive_no > after)
    query = sa.select(*COLUMNS).where(wanted).order_by(t.archives.c.archive_no)
    return [archive_of(row) for row in (await tx.execute(query)).mappings()]


async def newest_with_document(
    tx: Transaction, scope: Scope, session_id: int, *, before: int | None = None
) -> Archive | None:
    """Return the newest archive that has a document, of those before archive number `before` where given."""
    query = sa.select(*COLUMNS).where(_of(scope, session_id), t.archives.c.has_document)
    if before is not None:
        query = query.where(t.archives.c.archive_no < before)
    newest = query.order_by(t.archives.c.archive_no.desc()).limit(1)
    row = (await tx.execute(newest)).mappings().one_or_none()
    return archive_of(row) if row else None


async def revise_document(tx: Transaction, scope: Scope, session_id: int, base: BaseDocument, *, abstract: str) -> None:
    """Raise the revision of a document, which has this abstract now.

    Raises: StaleDocument when it is no longer the one that was read.
    """
    revised = await tx.execute(
        sa.update(t.archives)
        .where(
            _of(scope, session_id),
            t.archives.c.archive_no == base.archive_no,
            t.archives.c.document_revision == base.revision,
            t.archives.c.has_document,
        )
        .values(document_revision=base.revision + 1, abstract=abstract)
        .returning(t.archives.c.archive_no)
    )
    if revised.one_or_none() is None:
        raise StaleDocument("The working memory changed at this moment; read it and try again.")
