"""Working-memory documents as rows: one per section per archive, and the items that wait."""

from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on, insert

from app.domain.archives import Archive
from app.domain.documents import BaseDocument, SectionRecord, StoredDocument
from app.domain.scope import Scope
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.sections import SECTIONS, Section
from app.storage import tables as t
from app.storage.transaction import Transaction

_BASE: Final = sa.text("SELECT archive_no, last_seq, revision FROM cairn.base_document(:account, :session, :before)")
NEWEST: Final = 2_147_483_647
"""Greater than any archive number: the base of an update that comes after all of them."""


async def base_document(tx: Transaction, scope: Scope, session_id: int, *, before: int = NEWEST) -> BaseDocument:
    """Return which document an update of archive `before` builds on."""
    row = (await tx.execute(_BASE, {"account": scope.account_id, "session": session_id, "before": before})).one()
    if row.archive_no is None:
        return BaseDocument()
    return BaseDocument(row.archive_no, row.revision, row.last_seq)


async def get(tx: Transaction, scope: Scope, session_id: int, base: BaseDocument) -> StoredDocument | None:
    """Return the document behind a base, None where there is none."""
    if base.archive_no == 0:
        return None
    w = t.working_memory_sections.c
    query = sa.select(
        w.section, w.body, w.tokens, w.bullets, w.requested_op, w.applied_op, w.changed, w.guard, w.reason,
        w.tokens_before, w.bullets_before,
    ).where(
        w.account_id == scope.account_id, w.session_id == session_id, w.archive_no == base.archive_no,
        w.revision == base.revision,
    ).order_by(w.section)  # fmt: skip
    records = {}
    for row in (await tx.execute(query)).mappings():
        section = SECTIONS[row["section"] - 1]
        records[section] = SectionRecord(**{**row, "section": section})
    legacy = None if records else await _legacy_overview(tx, scope, session_id, base.archive_no)
    return StoredDocument(base.archive_no, base.revision, base.last_seq, records, legacy)


async def _legacy_overview(tx: Transaction, scope: Scope, session_id: int, archive_no: int) -> str | None:
    a = t.archives.c
    query = sa.select(a.legacy_overview).where(
        a.account_id == scope.account_id, a.session_id == session_id, a.archive_no == archive_no
    )
    text: str | None = (await tx.execute(query)).scalar_one_or_none()
    return text


async def get_after(tx: Transaction, scope: Scope, archive: Archive) -> StoredDocument | None:
    """Return the document after one archive, None where it has none."""
    if not archive.has_document:
        return None
    own = BaseDocument(archive.archive_no, archive.document_revision, archive.last_seq)
    return await get(tx, scope, archive.session_id, own)


async def last_changes(
    tx: Transaction, scope: Scope, session_id: int, base: BaseDocument
) -> dict[Section, tuple[int, int]]:
    """Return for each section the archive and the revision of the document that last changed it, up to this one."""
    w = t.working_memory_sections.c
    query = (
        sa.select(w.section, w.archive_no, w.revision)
        .where(w.account_id == scope.account_id, w.session_id == session_id, w.archive_no <= base.archive_no, w.changed)
        .ext(distinct_on(w.section))
        .order_by(w.section, w.archive_no.desc(), w.revision.desc())
    )
    return {SECTIONS[row.section - 1]: (row.archive_no, row.revision) for row in await tx.execute(query)}


async def save(
    tx: Transaction,
    scope: Scope,
    session_id: int,
    archive_no: int,
    records: Mapping[Section, SectionRecord],
    *,
    revision: int = 0,
) -> None:
    """Write the seven sections of a new document."""
    rows = [
        {
            "account_id": scope.account_id,
            "session_id": session_id,
            "archive_no": archive_no,
            "revision": revision,
            "section": section.number,
            "body": record.body,
            "tokens": record.tokens,
            "tokens_before": record.tokens_before,
            "bullets": record.bullets,
            "bullets_before": record.bullets_before,
            "requested_op": record.requested_op,
            "applied_op": record.applied_op,
            "guard": record.guard,
            "reason": record.reason,
            "changed": record.changed,
        }
        for section, record in records.items()
    ]
    await tx.execute(sa.insert(t.working_memory_sections), rows)


async def waiting_items(tx: Transaction, scope: Scope, session_id: int) -> list[DeferredItem]:
    """Return the items that no document has admitted yet, the oldest first."""
    d = t.working_memory_deferred.c
    query = (
        sa.select(d.section, d.item, d.reason)
        .where(d.account_id == scope.account_id, d.session_id == session_id, d.admitted_in.is_(None))
        .order_by(d.id)
    )
    return [DeferredItem(SECTIONS[row.section - 1], row.item, row.reason) for row in await tx.execute(query)]


async def defer(tx: Transaction, scope: Scope, session_id: int, archive_no: int, items: Sequence[DeferredItem]) -> None:
    """Keep items that a guard refused; one that waits already is not kept twice."""
    if not items:
        return
    rows = [
        {
            "account_id": scope.account_id,
            "session_id": session_id,
            "section": item.section.number,
            "item": item.text,
            "reason": item.reason,
            "archive_no": archive_no,
        }
        for item in items
    ]
    await tx.execute(insert(t.working_memory_deferred).on_conflict_do_nothing(), rows)


async def admit(tx: Transaction, scope: Scope, session_id: int, archive_no: int, items: Sequence[DeferredItem]) -> None:
    """Note that a document has taken these waiting items in."""
    d = t.working_memory_deferred
    for item in items:
        await tx.execute(
            sa.update(d)
            .where(
                d.c.account_id == scope.account_id,
                d.c.session_id == session_id,
                d.c.section == item.section.number,
                sa.func.md5(d.c.item) == sa.func.md5(sa.bindparam("waiting", item.text)),
                d.c.admitted_in.is_(None),
            )
            .values(admitted_in=archive_no)
        )
