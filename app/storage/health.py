"""Whether the database is there, in the state this release needs."""

import sqlalchemy as sa

from app.storage.transaction import Transaction


async def revision(tx: Transaction) -> str | None:
    """Return the migration the database stands at, None before the first."""
    present = await tx.execute(sa.text("SELECT to_regclass('cairn.alembic_version') IS NOT NULL"))
    if not present.scalar_one():
        return None
    row = (await tx.execute(sa.text("SELECT version_num FROM cairn.alembic_version"))).one_or_none()
    return row[0] if row else None
