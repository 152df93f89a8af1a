"""Archives as rows: sealing, reading, cancelling."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.domain.archives import Archive, Sealed, StepOutcome, ToolPair
from app.domain.commits import Trigger
from app.domain.documents import BaseDocument
from app.domain.errors import StaleDocument
from app.domain.jobs import StepReport
from app.domain.retention import Kept, Retention, TurnRetention
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.domain.tasks import Task, TaskStatus
from app.storage import tables as t
from app.storage.transaction import Transaction

_COLUMNS: Final = tuple(
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
_CANCEL: Final = sa.text("SELECT cairn.cancel_archive(:account, :session, :archive)")


def _archive(row: Mapping[Any, Any]) -> Archive:
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
    query = sa.select(*_COLUMNS).where(_of(scope, session_id), t.archives.c.archive_no == archive_no)
    row = (await tx.execute(query)).mappings().one_or_none()
    return _archive(row) if row else None


async def list_all(tx: Transaction, scope: Scope, session_id: int, *, after: int = 0) -> list[Archive]:
    """Return the archives of a session, those after number `after`, the oldest first."""
    wanted = sa.and_(_of(scope, session_id), t.archives.c.archive_no > after)
    query = sa.select(*_COLUMNS).where(wanted).order_by(t.archives.c.archive_no)
    return [_archive(row) for row in (await tx.execute(query)).mappings()]


async def newest_with_document(
    tx: Transaction, scope: Scope, session_id: int, *, before: int | None = None
) -> Archive | None:
    """Return the newest archive that has a document, of those before archive number `before` where given."""
    query = sa.select(*_COLUMNS).where(_of(scope, session_id), t.archives.c.has_document)
    if before is not None:
        query = query.where(t.archives.c.archive_no < before)
    newest = query.order_by(t.archives.c.archive_no.desc()).limit(1)
    row = (await tx.execute(newest)).mappings().one_or_none()
    return _archive(row) if row else None


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


async def cancel(tx: Transaction, scope: Scope, archive: Archive) -> int:
    """End the steps that wait and ask the running ones to stop; return how many there were."""
    arguments = {"account": scope.account_id, "session": archive.session_id, "archive": archive.archive_no}
    return int((await tx.execute(_CANCEL, arguments)).scalar_one())


async def get_task(tx: Transaction, scope: Scope, task_id: UUID) -> Task | None:
    """Return the caller's task of that id."""
    tasks = await _tasks(tx, scope, t.archives.c.task_id == task_id, limit=1)
    return tasks[0] if tasks else None


async def list_tasks(
    tx: Transaction, scope: Scope, *, session_name: str | None, status: TaskStatus | None, limit: int
) -> list[Task]:
    """Return the caller's tasks, the newest first."""
    wanted: list[sa.ColumnElement[bool]] = [sa.true()]
    if session_name is not None:
        wanted.append(t.sessions.c.name == session_name)
    if status is not None:
        wanted.append(_is_in(status))
    return await _tasks(tx, scope, sa.and_(*wanted), limit=limit)


def _is_in(status: TaskStatus) -> sa.ColumnElement[bool]:
    """Return the condition that an archive is the task of that status; the same as `task_status`, for many rows."""
    a, j = t.archives.c, t.jobs.c
    stopping = sa.exists().where(
        j.account_id == a.account_id, j.session_id == a.session_id, j.archive_no == a.archive_no,
        j.state == "running", j.cancel_asked,
    )  # fmt: skip
    match status:
        case TaskStatus.CANCELLING:
            return sa.and_(a.status.in_(("pending", "running")), stopping)
        case TaskStatus.PENDING | TaskStatus.RUNNING:
            return sa.and_(a.status == status.value, sa.not_(stopping))
        case TaskStatus.CANCELLED:
            return a.status.in_(("cancelled", "discarded"))
        case _:
            return a.status == status.value


async def _tasks(tx: Transaction, scope: Scope, wanted: sa.ColumnElement[bool], *, limit: int) -> list[Task]:
    query = (
        sa.select(*_COLUMNS, t.sessions.c.name)
        .join_from(
            t.archives,
            t.sessions,
            sa.and_(t.sessions.c.account_id == t.archives.c.account_id, t.sessions.c.id == t.archives.c.session_id),
        )
        .where(t.archives.c.account_id == scope.account_id, t.sessions.c.user_id == scope.user_id, wanted)
        .order_by(t.archives.c.created_at.desc(), t.archives.c.session_id, t.archives.c.archive_no.desc())
        .limit(limit)
    )
    found = []
    for row in (await tx.execute(query)).mappings():
        values = dict(row)
        name = values.pop("name")
        found.append((_archive(values), name))
    steps = await _steps(tx, scope, [(archive.session_id, archive.archive_no) for archive, _ in found])
    return [
        Task(archive, name, tuple(steps.get((archive.session_id, archive.archive_no), ()))) for archive, name in found
    ]


async def _steps(
    tx: Transaction, scope: Scope, archives: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], list[StepReport]]:
    if not archives:
        return {}
    j = t.jobs.c
    query = (
        sa.select(j.session_id, j.archive_no, j.kind, j.state, j.outcome, j.attempts, j.error_class, j.error_text,
                  j.started_at, j.finished_at, j.cancel_asked, j.result)
        .where(j.account_id == scope.account_id, sa.tuple_(j.session_id, j.archive_no).in_(archives))
        .order_by(j.id)
    )  # fmt: skip
    found: dict[tuple[int, int], list[StepReport]] = {}
    for row in await tx.execute(query):
        report = StepReport(
            step=row.kind,
            state=row.state,
            outcome=row.outcome,
            attempts=row.attempts,
            error_class=row.error_class,
            error_text=row.error_text,
            started_at=row.started_at,
            finished_at=row.finished_at,
            cancel_asked=row.cancel_asked,
            shortened_messages=tuple((row.result or {}).get("shortened_messages", ())),
        )
        found.setdefault((row.session_id, row.archive_no), []).append(report)
    return found
