"""How often model services failed in a row, as rows that every process shares."""

from datetime import timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.storage import tables as t
from app.storage.transaction import Transaction

_MOST_DOUBLINGS: Final = 10


async def pause(tx: Transaction, service: str, model: str) -> timedelta | None:
    """Return what is left of a pause, negative when it is over, None when there is none."""
    b = t.model_breakers.c
    query = sa.select(b.open_until - sa.func.clock_timestamp()).where(b.service == service, b.model == model)
    return (await tx.execute(query)).scalar_one_or_none()


async def claim_trial(tx: Transaction, service: str, model: str, *, next_pause: timedelta) -> bool:
    """Return whether the caller may try a service whose pause is over; everybody else pauses once more."""
    b = t.model_breakers
    now = sa.func.clock_timestamp()
    claimed = await tx.execute(
        sa.update(b)
        .where(b.c.service == service, b.c.model == model, b.c.open_until <= now)
        .values(open_until=now + next_pause)
        .returning(b.c.failures)
    )
    return claimed.one_or_none() is not None


async def note_failure(
    tx: Transaction, service: str, model: str, *, allowed: int, first_pause: timedelta, longest_pause: timedelta
) -> None:
    """Count a failure; from the `allowed`th in a row on a pause begins, twice as long each time."""
    b = t.model_breakers
    failures = b.c.failures + 1
    doublings = sa.func.least(failures - allowed, _MOST_DOUBLINGS)
    lasting = sa.func.least(first_pause * sa.func.power(2.0, doublings), longest_pause)
    until = sa.case((failures >= allowed, sa.func.clock_timestamp() + lasting))
    statement = insert(b).values(service=service, model=model, failures=1)
    await tx.execute(
        statement.on_conflict_do_update(
            index_elements=["service", "model"], set_={"failures": failures, "open_until": until}
        )
    )


async def note_success(tx: Transaction, service: str, model: str) -> None:
    """Forget the failures of a service."""
    b = t.model_breakers
    await tx.execute(
        sa.update(b)
        .where(b.c.service == service, b.c.model == model, b.c.failures > 0)
        .values(failures=0, open_until=None)
    )
