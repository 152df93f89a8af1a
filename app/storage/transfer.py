"""Whole sessions as rows: read page by page for an export, written in one transaction by an import."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.archives import StepOutcome
from app.domain.documents import SectionRecord
from app.domain.messages import MessageRole, NewMessage
from app.domain.scope import Scope
from app.domain.tool_results.kinds import kind_of
from app.domain.tool_results.synopsis import synopsis
from app.domain.transfer import (
    Head,
    MovedArchive,
    MovedDocument,
    MovedItem,
    MovedMessage,
    MovedSection,
    MovedToolResult,
)
from app.domain.working_memory.sections import SECTIONS
from app.storage import tables as t
from app.storage.transaction import Transaction

PAGE_ROWS: Final = 500
PAGE_BYTES: Final = 2 * 1024 * 1024
"""A page ends with the message that passes this size, so that memory does not depend on how large messages are."""

_ENQUEUE: Final = sa.text(
    "SELECT cairn.enqueue_job(:account, :kind, :user, :session, :archive, :order_key, :mutex_key, :max_attempts)"
)


async def list_messages(
    tx: Transaction, scope: Scope, session_id: int, *, after: int, last_seq: int
) -> list[MovedMessage]:
    """Return the next messages behind `after`, up to last_seq: as many as make a page, at least one."""
    m = t.messages.c
    size = sa.func.octet_length(sa.cast(m.parts, sa.Text))
    page = (
        sa.select(
            m.seq, m.message_id, m.role, m.peer_id, m.origin, m.parts, m.attributes, m.said_at, m.client_message_id,
            m.body_sha256, (sa.func.sum(size).over(order_by=m.seq) - size).label("before"),
        )
        .where(m.account_id == scope.account_id, m.session_id == session_id, m.seq > after, m.seq <= last_seq)
        .order_by(m.seq)
        .limit(PAGE_ROWS)
        .subquery()
    )  # fmt: skip
    rows = await tx.execute(sa.select(page).where(page.c.before < PAGE_BYTES).order_by(page.c.seq))
    return [_message(row) for row in rows]


def _message(row: Any) -> MovedMessage:
    new = NewMessage(
        role=MessageRole(row.role),
        parts=tuple(row.parts),
        peer_id=row.peer_id,
        said_at=row.said_at,
        origin=row.origin,
        client_message_id=row.client_message_id,
        attributes=row.attributes or {},
        message_id=row.message_id,
        stored_hash=row.body_sha256,
    )
    return MovedMessage(row.seq, new)


async def list_archives(tx: Transaction, scope: Scope, session_id: int) -> list[MovedArchive]:
    """Return all archives of a session, the oldest first."""
    a = t.archives.c
    query = (
        sa.select(
            a.archive_no, a.first_seq, a.last_seq, a.working_memory, a.long_term_memory, a.abstract, a.created_at,
            a.started_at, a.finished_at, a.document_revision, a.document_source, a.document_provider, a.legacy_overview,
            a.extraction_metadata,
        )
        .where(a.account_id == scope.account_id, a.session_id == session_id)
        .order_by(a.archive_no)
    )  # fmt: skip
    archives = []
    for row in (await tx.execute(query)).mappings():
        values: dict[str, Any] = dict(row)
        for step in ("working_memory", "long_term_memory"):
            values[step] = StepOutcome(values[step])
        archives.append(MovedArchive(**values))
    return archives


async def list_documents(tx: Transaction, scope: Scope, session_id: int, archive: MovedArchive) -> list[MovedDocument]:
    """Return the documents after one archive: the first, then each correction up to its revision."""
    w = t.working_memory_sections.c
    query = (
        sa.select(
            w.revision, w.section, w.body, w.requested_op, w.applied_op, w.changed, w.guard, w.reason, w.tokens_before,
            w.bullets_before,
        )
        .where(
            w.account_id == scope.account_id, w.session_id == session_id, w.archive_no == archive.archive_no,
            w.revision <= archive.document_revision,
        )
        .order_by(w.revision, w.section)
    )  # fmt: skip
    by_revision: dict[int, list[MovedSection]] = {}
    for row in (await tx.execute(query)).mappings():
        values: dict[str, Any] = dict(row)
        revision, number = values.pop("revision"), values.pop("section")
        by_revision.setdefault(revision, []).append(MovedSection(section=SECTIONS[number - 1], **values))
    return [MovedDocument(archive.archive_no, revision, tuple(found)) for revision, found in by_revision.items()]


async def list_items(tx: Transaction, scope: Scope, session_id: int) -> list[MovedItem]:
    """Return the facts that wait or waited outside the documents, in the order they came."""
    d = t.working_memory_deferred.c
    query = (
        sa.select(d.section, d.item, d.reason, d.archive_no, d.admitted_in, d.created_at)
        .where(d.account_id == scope.account_id, d.session_id == session_id)
        .order_by(d.id)
    )
    return [
        MovedItem(SECTIONS[row.section - 1], row.item, row.reason, row.archive_no, row.admitted_in, row.created_at)
        for row in await tx.execute(query)
    ]


async def next_tool_result(tx: Transaction, scope: Scope, session_id: int, *, after: str) -> MovedToolResult | None:
    """Return the tool result whose id follows `after`; one at a time, because each may be large."""
    r = t.tool_results.c
    query = (
        sa.select(
            r.tool_result_id, r.seq, r.content, r.direction, r.mime_type, r.preview_chars, r.created_at, r.tool_id,
            r.tool_name,
        )
        .where(r.account_id == scope.account_id, r.session_id == session_id, r.tool_result_id > after)
        .order_by(r.tool_result_id)
        .limit(1)
    )  # fmt: skip
    row = (await tx.execute(query)).mappings().one_or_none()
    return MovedToolResult(**row) if row else None


async def add_archive(
    tx: Transaction, scope: Scope, session_id: int, archive: MovedArchive, *, base: MovedArchive | None, tokens: int
) -> None:
    """Write an archive whose document, if it has one, was built on that of archive `base`."""
    values: dict[str, Any] = {
        "account_id": scope.account_id,
        "session_id": session_id,
        "archive_no": archive.archive_no,
        "first_seq": archive.first_seq,
        "last_seq": archive.last_seq,
        "tokens": tokens,
        "trigger": "import",
        "working_memory": archive.working_memory.value,
        "long_term_memory": archive.long_term_memory.value,
        "abstract": archive.abstract,
        "created_at": archive.created_at,
        "started_at": archive.started_at,
        "finished_at": archive.finished_at,
        "document_revision": archive.document_revision,
        "document_source": archive.document_source,
        "document_provider": archive.document_provider,
        "legacy_overview": archive.legacy_overview,
        "extraction_metadata": archive.extraction_metadata,
    }
    if archive.has_document:
        values["base_archive_no"] = base.archive_no if base else 0
        values["covers_from_seq"] = base.last_seq + 1 if base else 1
    await tx.execute(sa.insert(t.archives), values)


async def open_step(
    tx: Transaction, scope: Scope, session_id: int, archive_no: int, step: str, *, max_attempts: int
) -> None:
    """Queue the work of a step that was not done when the session was exported."""
    lane, owner = f"wm:{session_id}", f"owner:{scope.user_id}"
    keys = (lane, lane) if step == "working_memory" else (f"ltm:{session_id}", owner)
    arguments = {
        "account": scope.account_id,
        "kind": step,
        "user": scope.user_id,
        "session": session_id,
        "archive": archive_no,
        "order_key": keys[0],
        "mutex_key": keys[1],
        "max_attempts": max_attempts,
    }
    await tx.execute(_ENQUEUE, arguments)


async def add_items(tx: Transaction, scope: Scope, session_id: int, items: Sequence[MovedItem]) -> None:
    rows = [
        {
            "account_id": scope.account_id,
            "session_id": session_id,
            "section": item.section.number,
            "item": item.text,
            "reason": item.reason,
            "archive_no": item.archive_no,
            "admitted_in": item.admitted_in,
            "created_at": item.created_at,
        }
        for item in items
    ]
    await tx.execute(insert(t.working_memory_deferred).on_conflict_do_nothing(), rows)


async def add_tool_result(tx: Transaction, scope: Scope, session_id: int, result: MovedToolResult) -> None:
    kind = kind_of(result.content)
    values = {
        "account_id": scope.account_id,
        "session_id": session_id,
        "tool_result_id": result.tool_result_id,
        "seq": result.seq,
        "tool_id": result.tool_id,
        "tool_name": result.tool_name,
        "direction": result.direction,
        "content": result.content,
        "content_sha256": hashlib.sha256(result.content.encode()).digest(),
        "mime_type": result.mime_type,
        "kind": kind.value,
        "synopsis": synopsis(result.content, kind),
        "chars": len(result.content),
        "preview_chars": result.preview_chars,
        "created_at": result.created_at,
    }
    await tx.execute(insert(t.tool_results).on_conflict_do_nothing(), values)


async def close_step(tx: Transaction, scope: Scope, session_id: int, archive_no: int) -> None:
    """End the update of an archive as failed: a later document was written without it, so it can never be built."""
    a = t.archives
    archive = sa.and_(a.c.account_id == scope.account_id, a.c.session_id == session_id, a.c.archive_no == archive_no)
    values = {"working_memory": StepOutcome.FAILED.value, "finished_at": sa.func.now()}
    await tx.execute(sa.update(a).where(archive).values(values))


async def finish_session(
    tx: Transaction, scope: Scope, session_id: int, head: Head, *, sealed_seq: int, archive_count: int
) -> None:
    """Set the position and the times of a session whose messages and archives are all there; pending tokens follow."""
    s = t.sessions
    spoke: datetime | None = head.last_message_at or head.created_at
    values: Mapping[str, Any] = {
        "sealed_seq": sealed_seq,
        "sealed_tokens": await tokens_through(tx, scope, session_id, sealed_seq),
        "archive_count": archive_count,
        "pending_tokens": 0,
        "anchor_seq": head.anchor_seq,
        "created_at": head.created_at,
        "last_message_at": head.last_message_at,
        "last_commit_at": head.last_commit_at,
        "active_hour": sa.func.date_trunc("hour", spoke, "UTC"),
    }
    await tx.execute(sa.update(s).where(s.c.account_id == scope.account_id, s.c.id == session_id).values(values))


async def tokens_through(tx: Transaction, scope: Scope, session_id: int, seq: int) -> int:
    """Return the tokens of messages 1 … seq."""
    if seq == 0:
        return 0
    m = t.messages.c
    query = sa.select(m.tokens_through).where(
        m.account_id == scope.account_id, m.session_id == session_id, m.seq == seq
    )
    return int((await tx.execute(query)).scalar_one())


def section_record(section: MovedSection, *, tokens: int, bullets: int) -> SectionRecord:
    return SectionRecord(
        section=section.section,
        body=section.body,
        tokens=tokens,
        bullets=bullets,
        requested_op=section.requested_op,
        applied_op=section.applied_op,
        changed=section.changed,
        guard=section.guard,
        reason=section.reason,
        tokens_before=section.tokens_before,
        bullets_before=section.bullets_before,
    )
