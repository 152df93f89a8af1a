"""Messages as rows: the append that is one round trip, and the reads."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
import psycopg
import sqlalchemy as sa

from app.domain.auto_commit import AutoCommitPolicy, AutoCommitState
from app.domain.errors import Conflict, session_not_found
from app.domain.messages import (
    Appended,
    MessageRole,
    NewMessage,
    StoredMessage,
    body_sha256,
    opens,
    tool_uses,
)
from app.domain.scope import Scope
from app.domain.tool_results.externalising import NewToolResult
from app.storage import tables as t
from app.storage.failures import OTHER_BODY, SESSION_MISSING, sqlstate
from app.storage.transaction import Statement, Transaction

APPEND: Final = """
    SELECT seqs, added, live_count, pending_tokens,
           auto_commit_policy, outside_window, last_auto_commit_at, work_open, by_turns FROM cairn.append_messages(
      %s, %s, %s, %s, %s::text[], %b::text[]::jsonb[], %s::int[], %s::text[],
      %s::text[], %s::text[], %s::timestamptz[], %b::text[]::jsonb[],
      %s::text[], %s::bytea[], %s::int[], %s::text[], %s::boolean[], %s::uuid[], %s::jsonb)
"""
"""Texts go as binary arrays: as text ones every quote and backslash of a message is escaped in Python, a second or two
for a large one, while nobody else is served."""

APPEND_WITH_RESULTS: Final = APPEND.rstrip().removesuffix(")") + ", %s::jsonb, %b::text[])"


async def append(
    statement: Statement,
    scope: Scope,
    session_name: str,
    messages: Sequence[NewMessage],
    token_counts: Sequence[int],
    *,
    create_session: bool = True,
    session_policy: AutoCommitPolicy | None = None,
    results: Sequence[NewToolResult] = (),
) -> Appended:
    """Append messages in one round trip; the session is made with the first of them.

    session_policy: when a session that is made here commits itself. results: texts of tools kept beside the messages.

    Raises: NotFound when the session must exist and does not, Conflict when a client_message_id was used before with
    another body (then none of the messages is stored).
    """
    try:
        arguments = _arguments(
            scope, session_name, messages, token_counts, create_session=create_session, session_policy=session_policy
        )
        if results:
            rows = await statement.rows(APPEND_WITH_RESULTS, (*arguments, *_kept_beside(results)))
        else:
            rows = await statement.rows(APPEND, arguments)
    except psycopg.Error as error:
        state = sqlstate(error)
        if state == SESSION_MISSING:
            raise session_not_found(session_name) from error
        if state == OTHER_BODY:
            raise _other_body(messages) from error
        raise
    seqs, added, live_count, pending_tokens, *auto_commit = rows[0]
    return Appended(
        tuple(seqs), added, live_count, pending_tokens, _auto_commit(live_count, pending_tokens, *auto_commit)
    )


def _auto_commit(
    live_count: int,
    pending_tokens: int,
    policy: Mapping[str, object] | None,
    outside_window: int,
    last_auto_commit_at: datetime | None,
    work_open: bool,
    by_turns: bool,
) -> AutoCommitState | None:
    if policy is None:
        return None
    return AutoCommitState(
        policy=AutoCommitPolicy.stored(policy),
        live_count=live_count,
        outside_window=outside_window,
        pending_tokens=pending_tokens,
        last_auto_commit_at=last_auto_commit_at,
        work_open=work_open,
        by_turns=by_turns,
    )


def _other_body(messages: Sequence[NewMessage]) -> Conflict:
    ids = [message.client_message_id for message in messages if message.client_message_id]
    return Conflict(
        "A client_message_id of this request was used before with another body; nothing was stored. "
        "Send a new id for a new message, or the same body to repeat one.",
        {"field": "client_message_id", "client_message_ids": ids},
    )


def _arguments(
    scope: Scope,
    session_name: str,
    messages: Sequence[NewMessage],
    token_counts: Sequence[int],
    *,
    create_session: bool,
    session_policy: AutoCommitPolicy | None = None,
) -> tuple[object, ...]:
    uses = tool_uses(messages)
    with_ids = any(message.client_message_id for message in messages)
    return (
        scope.user_id,
        session_name,
        create_session,
        [message.role.value for message in messages],
        [_json(message.parts) for message in messages],
        list(token_counts),
        [opens(message) for message in messages],
        _or_null([message.peer_id for message in messages]),
        _or_null([message.origin for message in messages]),
        _or_null([message.said_at for message in messages]),
        _or_null([_json(m.attributes) if m.attributes else None for m in messages]),
        [message.client_message_id for message in messages] if with_ids else None,
        [_hash(message) for message in messages] if with_ids else None,
        [use.position + 1 for use in uses] if uses else None,
        [use.tool_id for use in uses] if uses else None,
        [use.is_result for use in uses] if uses else None,
        _or_null([message.message_id for message in messages]),
        _json(session_policy.as_dict()) if session_policy else None,
    )


def _kept_beside(results: Sequence[NewToolResult]) -> tuple[str, list[str]]:
    known = [
        {
            "nth": nth,
            "at": result.position + 1,
            "id": result.tool_result_id,
            "tool_id": result.tool_id,
            "tool_name": result.tool_name,
            "direction": result.direction.value,
            "sha256": result.sha256.hex(),
            "mime_type": result.mime_type,
            "kind": result.kind.value,
            "synopsis": result.synopsis,
            "chars": len(result.content),
            "preview_chars": result.preview_chars,
        }
        for nth, result in enumerate(results, 1)
    ]
    return _json(known), [result.content for result in results]


def _hash(message: NewMessage) -> bytes | None:
    return (message.stored_hash or body_sha256(message)) if message.client_message_id else None


def _json(value: object) -> str:
    """Return a value as JSON text; numbers beyond 64 bits, which the fast encoder refuses, are kept as they are."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _or_null(values: list[Any]) -> list[Any] | None:
    """Return NULL for a column no message has a value for: most appends send eight short arrays instead of twelve."""
    return values if any(value is not None for value in values) else None


async def list_range(
    tx: Transaction, scope: Scope, session_id: int, first_seq: int, last_seq: int
) -> list[StoredMessage]:
    """Return the messages first_seq … last_seq in order, both ends included."""
    m = t.messages.c
    query = (
        sa.select(m.seq, m.message_id, m.role, m.peer_id, m.origin, m.parts, m.attributes, m.tokens, m.said_at)
        .where(m.account_id == scope.account_id, m.session_id == session_id, m.seq.between(first_seq, last_seq))
        .order_by(m.seq)
    )
    return [stored_message(row) for row in (await tx.execute(query)).mappings()]


def stored_message(row: Mapping[Any, Any]) -> StoredMessage:
    """Return the message a row holds."""
    values = dict(row)
    values["role"] = MessageRole(values["role"])
    values["parts"] = tuple(values["parts"])
    values["attributes"] = values["attributes"] or {}
    return StoredMessage(**values)
