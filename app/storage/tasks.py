"""Tasks: archives seen with their jobs and what models cost for them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from app.domain.archives import Archive
from app.domain.errors import Conflict, PreconditionFailed
from app.domain.jobs import StepReport
from app.domain.scope import Scope
from app.domain.sessions import SpentTokens
from app.domain.tasks import NOTHING_SPENT, Task, TaskStatus
from app.storage import tables as t
from app.storage.archives import COLUMNS, archive_of
from app.storage.failures import NOTHING_FAILED, TAKEN_IN_NOW, sqlstate
from app.storage.transaction import Transaction

TASKS_CHANNEL: Final = "cairn_tasks"
"""Notified with the id of a task whenever its state has changed."""

_CANCEL: Final = sa.text("SELECT cairn.cancel_archive(:account, :session, :archive)")
_RETRY: Final = sa.text("SELECT cairn.retry_archive(:account, :session, :archive, :more)")
_DISCARD: Final = sa.text("SELECT cairn.discard_archive(:account, :session, :archive)")

_Key: TypeAlias = tuple[int, int]


async def get(tx: Transaction, scope: Scope, task_id: UUID) -> Task | None:
    """Return the caller's task of that id."""
    tasks = await _tasks(tx, scope, t.archives.c.task_id == task_id, limit=1)
    return tasks[0] if tasks else None


async def list_page(
    tx: Transaction,
    scope: Scope,
    *,
    session_name: str | None,
    status: TaskStatus | None,
    after: Task | None,
    limit: int,
) -> list[Task]:
    """Return the caller's tasks, the newest first; those that come after task `after` where it is given."""
    a = t.archives.c
    wanted: list[sa.ColumnElement[bool]] = [sa.true()]
    if session_name is not None:
        wanted.append(t.sessions.c.name == session_name)
    if status is not None:
        wanted.append(_has(status))
    if after is not None:
        place = (after.archive.created_at, after.archive.session_id, after.archive.archive_no)
        wanted.append(sa.tuple_(a.created_at, a.session_id, a.archive_no) < sa.tuple_(*map(sa.literal, place)))
    return await _tasks(tx, scope, sa.and_(*wanted), limit=limit)


async def steps_of(tx: Transaction, scope: Scope, archives: Sequence[Archive]) -> dict[int, tuple[StepReport, ...]]:
    """Return the jobs of archives of one session, by the number of the archive."""
    steps = await _steps(tx, scope, [(archive.session_id, archive.archive_no) for archive in archives])
    return {archive_no: tuple(reports) for (_, archive_no), reports in steps.items()}


async def cancel(tx: Transaction, scope: Scope, archive: Archive) -> int:
    """End the steps that wait and ask the running ones to stop; return how many there were."""
    return int((await tx.execute(_CANCEL, _key(scope, archive))).scalar_one())


async def retry(tx: Transaction, scope: Scope, archive: Archive, *, more_attempts: int) -> None:
    """Let the failed steps of an archive run again, with so many attempts more.

    Raises: PreconditionFailed when none failed.
    """
    try:
        await tx.execute(_RETRY, {**_key(scope, archive), "more": more_attempts})
    except sa.exc.DBAPIError as error:
        if sqlstate(error) == NOTHING_FAILED:
            raise PreconditionFailed(f"Nothing of task {archive.task_id} failed: there is nothing to retry.") from error
        raise


async def discard(tx: Transaction, scope: Scope, archive: Archive) -> None:
    """Leave a failed archive out of contexts and prompts for good.

    Raises: PreconditionFailed when it has not failed, Conflict while a later update takes it in.
    """
    try:
        await tx.execute(_DISCARD, _key(scope, archive))
    except sa.exc.DBAPIError as error:
        state = sqlstate(error)
        if state == NOTHING_FAILED:
            raise PreconditionFailed(
                f"Task {archive.task_id} has not failed: only a failed or cancelled one can be discarded."
            ) from error
        if state == TAKEN_IN_NOW:
            raise Conflict(
                "The update of a later archive is taking these messages in at this moment; wait for its end, or cancel "
                "it and try again."
            ) from error
        raise


def _key(scope: Scope, archive: Archive) -> dict[str, int]:
    return {"account": scope.account_id, "session": archive.session_id, "archive": archive.archive_no}


def _has(status: TaskStatus) -> sa.ColumnElement[bool]:
    """Return the condition for what clients see as this status; Task.status says the same of one task."""
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
    a = t.archives.c
    query = (
        sa.select(*COLUMNS, t.sessions.c.name)
        .join_from(
            t.archives,
            t.sessions,
            sa.and_(t.sessions.c.account_id == a.account_id, t.sessions.c.id == a.session_id),
        )
        .where(a.account_id == scope.account_id, t.sessions.c.user_id == scope.user_id, wanted)
        .order_by(a.created_at.desc(), a.session_id.desc(), a.archive_no.desc())
        .limit(limit)
    )
    found = []
    for row in (await tx.execute(query)).mappings():
        values = dict(row)
        name = values.pop("name")
        found.append((archive_of(values), name))
    keys = [(archive.session_id, archive.archive_no) for archive, _ in found]
    steps, spent = await _steps(tx, scope, keys), await _spent(tx, scope, keys)
    return [
        Task(archive, name, tuple(steps.get(key, ())), spent.get(key, NOTHING_SPENT))
        for key, (archive, name) in zip(keys, found, strict=True)
    ]


async def _steps(tx: Transaction, scope: Scope, archives: Sequence[_Key]) -> dict[_Key, list[StepReport]]:
    if not archives:
        return {}
    j = t.jobs.c
    query = (
        sa.select(
            j.session_id, j.archive_no, j.kind, j.state, j.outcome, j.attempts, j.max_attempts, j.error_class,
            j.error_text, j.run_at, j.started_at, j.finished_at, j.cancel_asked, j.result,
        )
        .where(j.account_id == scope.account_id, sa.tuple_(j.session_id, j.archive_no).in_(archives))
        .order_by(j.id)
    )  # fmt: skip
    rows = (await tx.execute(query)).mappings().all()
    unfinished = [(row["session_id"], row["archive_no"]) for row in rows if row["finished_at"] is None]
    answered = await _answered_pieces(tx, scope, unfinished)
    found: dict[_Key, list[StepReport]] = {}
    for row in rows:
        key = (row["session_id"], row["archive_no"])
        found.setdefault(key, []).append(_report(row, answered.get((*key, row["kind"]))))
    return found


def _report(row: Mapping[Any, Any], answered: int | None) -> StepReport:
    result = row["result"] or {}
    again = row["state"] == "ready" and row["attempts"] > 0
    return StepReport(
        step=row["kind"],
        state=row["state"],
        outcome=row["outcome"],
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        error_class=row["error_class"],
        error_text=row["error_text"],
        next_attempt_at=row["run_at"] if again else None,
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        cancel_asked=row["cancel_asked"],
        pieces_done=result.get("pieces", answered),
        shortened_messages=tuple(result.get("shortened_messages", ())),
    )


async def _answered_pieces(tx: Transaction, scope: Scope, archives: Sequence[_Key]) -> dict[tuple[int, int, str], int]:
    """Return how many pieces of unfinished steps a model has answered already."""
    if not archives:
        return {}
    m = t.model_answers.c
    query = (
        sa.select(m.session_id, m.archive_no, m.step, sa.func.count(sa.distinct(m.first_seq)))
        .where(m.account_id == scope.account_id, sa.tuple_(m.session_id, m.archive_no).in_(archives), m.usable)
        .group_by(m.session_id, m.archive_no, m.step)
    )
    return {(row[0], row[1], row[2]): row[3] for row in await tx.execute(query)}


async def _spent(tx: Transaction, scope: Scope, archives: Sequence[_Key]) -> dict[_Key, SpentTokens]:
    if not archives:
        return {}
    m = t.model_calls.c
    query = (
        sa.select(m.session_id, m.archive_no, sa.func.sum(m.input_tokens), sa.func.sum(m.output_tokens))
        .where(m.account_id == scope.account_id, sa.tuple_(m.session_id, m.archive_no).in_(archives))
        .group_by(m.session_id, m.archive_no)
    )
    return {(row[0], row[1]): SpentTokens(int(row[2]), int(row[3])) for row in await tx.execute(query)}
