"""Which sessions have been silent for as long as their policy waits, over all tenants."""

from typing import Final

from app.domain.scope import Scope
from app.storage.transaction import Statement

_IDLE: Final = "SELECT account_id, account_name, user_id, user_name, session_name FROM cairn.idle_sessions(%s)"


async def idle_sessions(statement: Statement, *, limit: int) -> list[tuple[Scope, str]]:
    """Return up to `limit` sessions with their owners, those that spoke longest ago first."""
    rows = await statement.rows(_IDLE, (limit,))
    return [
        (Scope(account_id, user_id, account_name, user_name), session_name)
        for account_id, account_name, user_id, user_name, session_name in rows
    ]
