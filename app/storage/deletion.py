"""Erasing a session: every row that it alone supports, counted and removed in one transaction."""

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from app.domain.scope import Scope
from app.storage import tables as t
from app.storage.jobs import CANCEL_CHANNEL
from app.storage.transaction import Transaction

_TIMEOUT: Final = sa.text("SET LOCAL statement_timeout = '10min'")
_LOCK_LANES: Final = sa.text("SELECT cairn.lock_lanes(:account, VARIADIC CAST(:lanes AS text[]))")
_WAKE: Final = sa.text("SELECT pg_notify(:channel, '')")


def _goes_with_a_session() -> tuple[sa.Table, ...]:
    """Return the tables whose rows a deleted session takes along, found by their foreign keys."""
    gone = {t.sessions}
    while True:
        more = {
            table
            for table in t.metadata.sorted_tables
            for key in table.foreign_key_constraints
            if key.ondelete == "CASCADE" and key.referred_table in gone
        }
        if more <= gone:
            return tuple(sorted(gone, key=lambda table: table.name))
        gone |= more


ERASED: Final = _goes_with_a_session()


async def erase(tx: Transaction, scope: Scope, name: str) -> Mapping[str, int] | None:
    """Remove a session and all that hangs on it; return how many rows of each table went, None when there is none.

    Whoever appends, commits or applies meanwhile waits for the locks and then finds nothing; workers that hold a job
    of the session are woken to find it gone.
    """
    session_id = await _lock(tx, scope, name)
    if session_id is None:
        return None
    await tx.execute(_TIMEOUT)  # 200,000 messages take seconds: more than an ordinary statement is given
    counts = (await tx.execute(_count(scope, session_id))).mappings().one()
    await tx.execute(sa.delete(t.sessions).where(t.sessions.c.account_id == scope.account_id,
                                                 t.sessions.c.id == session_id))  # fmt: skip
    return {str(table): int(rows) for table, rows in counts.items()}


async def _lock(tx: Transaction, scope: Scope, name: str) -> int | None:
    """Hold everything that somebody else could add rows to, in the order that everybody locks in."""
    s, a, j = t.sessions.c, t.archives.c, t.jobs.c
    wanted = sa.and_(s.account_id == scope.account_id, s.user_id == scope.user_id, s.name == name)
    session_id: int | None = (await tx.execute(sa.select(s.id).where(wanted).with_for_update())).scalar_one_or_none()
    if session_id is None:
        return None
    of_archives = sa.and_(a.account_id == scope.account_id, a.session_id == session_id)
    of_jobs = sa.and_(j.account_id == scope.account_id, j.session_id == session_id)
    await tx.execute(sa.select(a.archive_no).where(of_archives).order_by(a.archive_no).with_for_update())
    lanes = sa.select(j.order_key).where(of_jobs, j.order_key.is_not(None)).distinct()
    keys = list((await tx.execute(lanes)).scalars())
    await tx.execute(_LOCK_LANES, {"account": scope.account_id, "lanes": keys})
    states = (await tx.execute(sa.select(j.state).where(of_jobs).order_by(j.id).with_for_update())).scalars().all()
    if "running" in states:
        await tx.execute(_WAKE, {"channel": CANCEL_CHANNEL})
    return session_id


def _count(scope: Scope, session_id: int) -> sa.Select[tuple[int, ...]]:
    counts = []
    for table in ERASED:
        key = table.c.id if table is t.sessions else table.c.session_id
        rows = sa.select(sa.func.count()).where(table.c.account_id == scope.account_id, key == session_id)
        counts.append(rows.scalar_subquery().label(table.name))
    return sa.select(*counts)
