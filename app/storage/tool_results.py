"""Large outputs and inputs of tools as rows. They are written with their message, by the append."""

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from app.domain.scope import Scope
from app.domain.tool_results.reading import ToolResult
from app.storage import tables as t
from app.storage.transaction import Transaction


async def ids_by_content(
    tx: Transaction, scope: Scope, session_name: str, hashes: Collection[bytes]
) -> dict[bytes, str]:
    """Return under which id the caller's session keeps each of these texts, by SHA-256, where it does."""
    r, s = t.tool_results.c, t.sessions.c
    session = (
        sa.select(s.id)
        .where(s.account_id == scope.account_id, s.user_id == scope.user_id, s.name == session_name)
        .scalar_subquery()
    )
    query = (
        sa.select(r.content_sha256, r.tool_result_id)
        .where(r.account_id == scope.account_id, r.session_id == session, r.content_sha256.in_(hashes))
        .order_by(r.seq.desc(), r.tool_result_id.desc())
    )
    return {bytes(row.content_sha256): row.tool_result_id for row in await tx.execute(query)}


async def list_newest(
    tx: Transaction, scope: Scope, session_id: int, *, tool_name: str | None, limit: int
) -> list[ToolResult]:
    """Return what is kept beside the messages of a session, the newest first; of one tool where it is named."""
    query = _known(scope, session_id).order_by(t.tool_results.c.seq.desc(), t.tool_results.c.tool_result_id)
    if tool_name is not None:
        query = query.where(t.tool_results.c.tool_name == tool_name)
    return [_tool_result(row) for row in (await tx.execute(query.limit(limit))).mappings()]


async def get(tx: Transaction, scope: Scope, session_id: int, tool_result_id: str) -> ToolResult | None:
    """Return what is known of a text, without the text."""
    query = _known(scope, session_id).where(t.tool_results.c.tool_result_id == tool_result_id)
    row = (await tx.execute(query)).mappings().one_or_none()
    return _tool_result(row) if row else None


async def content(tx: Transaction, scope: Scope, session_id: int, result: ToolResult) -> str:
    """Return a text in full."""
    return str((await tx.execute(_content(scope, session_id, result, t.tool_results.c.content))).scalar_one())


async def content_range(
    tx: Transaction, scope: Scope, session_id: int, result: ToolResult, *, offset: int, length: int
) -> str:
    """Return `length` characters of a text from `offset` on, both within it."""
    part = sa.func.substr(t.tool_results.c.content, offset + 1, length)
    return str((await tx.execute(_content(scope, session_id, result, part))).scalar_one())


def _known(scope: Scope, session_id: int) -> sa.Select[*tuple[Any, ...]]:
    r, m = t.tool_results.c, t.messages.c
    return (
        sa.select(
            r.tool_result_id, r.seq, m.message_id, m.peer_id, r.tool_id, r.tool_name, r.direction, r.content_sha256,
            r.mime_type, r.kind, r.synopsis, r.chars, r.preview_chars, r.created_at,
        )
        .join_from(
            t.tool_results,
            t.messages,
            sa.and_(m.account_id == r.account_id, m.session_id == r.session_id, m.seq == r.seq),
        )
        .where(r.account_id == scope.account_id, r.session_id == session_id)
    )  # fmt: skip


def _content(scope: Scope, session_id: int, result: ToolResult, wanted: sa.ColumnElement[str]) -> sa.Select[str]:
    r = t.tool_results.c
    return sa.select(wanted).where(
        r.account_id == scope.account_id,
        r.session_id == session_id,
        r.tool_result_id == result.tool_result_id,
    )


def _tool_result(row: Mapping[str, object] | sa.RowMapping) -> ToolResult:
    return ToolResult(**{str(name): value for name, value in row.items()})  # type: ignore[arg-type]
