"""Whether the database is there, in the state this release needs, and consistent."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.storage.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of a recount that should have returned nothing."""

    account_id: int
    session_id: int
    fault: str


async def revision(tx: Transaction) -> str | None:
    """Return the migration the database stands at, None before the first."""
    present = await tx.execute(sa.text("SELECT to_regclass('cairn.alembic_version') IS NOT NULL"))
    if not present.scalar_one():
        return None
    row = (await tx.execute(sa.text("SELECT version_num FROM cairn.alembic_version"))).one_or_none()
    return row[0] if row else None


async def recount(tx: Transaction) -> list[Fault]:
    """Rebuild every counter of the tenant in force from its rows and return what differs; slow on large tenants."""
    rows = await tx.execute(sa.text("SELECT account_id, session_id, fault FROM cairn.check_sessions"))
    return [Fault(*row) for row in rows]
