"""What model services were found to take, as rows that every process shares."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.storage import tables as t
from app.storage.transaction import Transaction

_COLUMNS: Final = ("transport", "one_of", "system_role", "misses")


async def get(tx: Transaction, service: str, model: str, *, newer_than: timedelta) -> Mapping[str, Any] | None:
    """Return transport, one_of, system_role and misses, None where nothing was noted lately."""
    m = t.model_capabilities.c
    query = sa.select(*(m[name] for name in _COLUMNS)).where(
        m.service == service, m.model == model, m.updated_at > sa.func.now() - newer_than
    )
    row = (await tx.execute(query)).mappings().one_or_none()
    return {name: row[name] for name in _COLUMNS} if row else None


async def save(tx: Transaction, service: str, model: str, values: Mapping[str, Any]) -> None:
    """Note what a model takes, over what was noted before."""
    row = {name: values[name] for name in _COLUMNS}
    statement = insert(t.model_capabilities).values(service=service, model=model, **row)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=["service", "model"], set_={**row, "updated_at": sa.func.now()})
    )
