"""Appending and sealing as services do it, with token counts that the test chooses."""

from collections.abc import Sequence

from app.domain.archives import Sealed, Skipped
from app.domain.commits import CommitOptions, Trigger, keeping
from app.domain.messages import Appended, NewMessage
from app.domain.scope import Scope
from app.services.commits import Commits
from app.services.sealing import Sealing
from app.storage import messages, sessions
from app.storage.transaction import Database
from tests.support.conversations import said


async def append(
    database: Database, scope: Scope, session: str, tokens: Sequence[int], new: Sequence[NewMessage] | None = None
) -> Appended:
    """Append one message per token count in one batch."""
    async with database.statement(scope) as statement:
        return await messages.append(statement, scope, session, new or [said() for _ in tokens], tokens)


async def seal(database: Database, scope: Scope, session: str, keep: int = 0) -> Sealed | Skipped:
    return await Commits(database, Sealing(5)).seal(scope, session, keeping(keep))


async def seal_idle(database: Database, scope: Scope, session: str) -> Sealed | Skipped:
    """Seal as the sweep of silent sessions does, whatever the policy of this one says."""
    async with database.transaction(scope) as tx:
        locked = await sessions.lock(tx, scope, session)
        assert locked is not None
        return await Sealing(5).seal(tx, scope, locked, CommitOptions(), trigger=Trigger.IDLE)


async def remember_window(database: Database, scope: Scope, session: str, keep: int) -> None:
    """Make an empty session that keeps the newest `keep` messages live."""
    async with database.statement(scope) as statement:
        await messages.append(statement, scope, session, [], [])
    assert isinstance(await seal(database, scope, session, keep), Skipped)
