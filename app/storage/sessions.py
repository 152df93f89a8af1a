"""Sessions as rows."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.scope import Scope
from app.domain.sessions import Session, SpentTokens
from app.storage import tables as t
from app.storage.transaction import Transaction

_COLUMNS: Final = (
    t.sessions.c.id,
    t.sessions.c.name,
    t.sessions.c.last_seq,
    t.sessions.c.last_tokens,
    t.sessions.c.sealed_seq,
    t.sessions.c.sealed_tokens,
    t.sessions.c.archive_count,
    t.sessions.c.keep_recent_count,
    t.sessions.c.pending_tokens,
    t.sessions.c.created_at,
    t.sessions.c.last_message_at,
    t.sessions.c.last_commit_at,
    t.sessions.c.last_user_seq,
    t.sessions.c.anchor_seq,
    t.sessions.c.retention_mode,
    t.sessions.c.keep_recent_turn_count,
    t.sessions.c.retained_message_token_budget,
    t.sessions.c.min_raw_tail_steps,
    t.sessions.c.last_auto_commit_at,
    t.sessions.c.memory_policy,
    t.sessions.c.auto_commit_policy,
    t.sessions.c.memory_extraction_config,
)


def _of(scope: Scope) -> sa.ColumnElement[bool]:
    return sa.and_(t.sessions.c.account_id == scope.account_id, t.sessions.c.user_id == scope.user_id)


def _session(row: Mapping[Any, Any]) -> Session:
    return Session(**row)


async def get(tx: Transaction, scope: Scope, name: str) -> Session | None:
    """Return the caller's session of that name."""
    row = (await tx.execute(sa.select(*_COLUMNS).where(_of(scope), t.sessions.c.name == name))).mappings().one_or_none()
    return _session(row) if row else None


async def get_by_id(tx: Transaction, scope: Scope, session_id: int) -> Session | None:
    """Return the caller's session with that row id."""
    row = (
        (await tx.execute(sa.select(*_COLUMNS).where(_of(scope), t.sessions.c.id == session_id)))
        .mappings()
        .one_or_none()
    )
    return _session(row) if row else None


async def lock(tx: Transaction, scope: Scope, name: str) -> Session | None:
    """Return the session and hold its row until the end: nobody appends or seals meanwhile."""
    query = sa.select(*_COLUMNS).where(_of(scope), t.sessions.c.name == name).with_for_update(key_share=True)
    row = (await tx.execute(query)).mappings().one_or_none()
    return _session(row) if row else None


async def create(
    tx: Transaction,
    scope: Scope,
    name: str,
    *,
    memory_policy: Mapping[str, object] | None = None,
    auto_commit_policy: Mapping[str, object] | None = None,
    memory_extraction_config: Mapping[str, object] | None = None,
) -> bool:
    """Make a session; False when the caller has one of that name already."""
    values = {
        "account_id": scope.account_id,
        "user_id": scope.user_id,
        "name": name,
        "memory_policy": memory_policy,
        "auto_commit_policy": auto_commit_policy,
        "memory_extraction_config": memory_extraction_config,
    }
    given = {key: value for key, value in values.items() if value is not None}
    made = await tx.execute(insert(t.sessions).values(given).on_conflict_do_nothing().returning(t.sessions.c.id))
    return made.one_or_none() is not None


async def set_config(
    tx: Transaction,
    scope: Scope,
    session_id: int,
    *,
    auto_commit_policy: Mapping[str, object] | None,
    memory_extraction_config: Mapping[str, object] | None,
) -> None:
    """Replace the policy of a locked session for committing itself, and what it says about extraction."""
    values = {"auto_commit_policy": auto_commit_policy, "memory_extraction_config": memory_extraction_config}
    given = {name: sa.null() if value is None else value for name, value in values.items()}
    await tx.execute(sa.update(t.sessions).where(_of(scope), t.sessions.c.id == session_id).values(given))


async def list_recent(tx: Transaction, scope: Scope, *, limit: int) -> list[Session]:
    """Return the caller's sessions, the one that spoke last first."""
    spoke = sa.func.coalesce(t.sessions.c.last_message_at, t.sessions.c.created_at)
    query = sa.select(*_COLUMNS).where(_of(scope)).order_by(spoke.desc(), t.sessions.c.id.desc()).limit(limit)
    return [_session(row) for row in (await tx.execute(query)).mappings()]


async def spent_tokens(tx: Transaction, scope: Scope, session_id: int) -> SpentTokens:
    """Return what models cost for this session so far."""
    query = sa.select(
        sa.func.coalesce(sa.func.sum(t.model_calls.c.input_tokens), 0),
        sa.func.coalesce(sa.func.sum(t.model_calls.c.output_tokens), 0),
    ).where(t.model_calls.c.account_id == scope.account_id, t.model_calls.c.session_id == session_id)
    row = (await tx.execute(query)).one()
    return SpentTokens(prompt=int(row[0]), completion=int(row[1]))
