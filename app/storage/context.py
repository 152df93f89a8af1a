"""The read behind a context: the newest document and every message it does not cover, in one snapshot."""

from typing import Final

import sqlalchemy as sa

from app.domain.messages import StoredMessage
from app.domain.scope import Scope
from app.storage import tables as t
from app.storage.messages import stored_message
from app.storage.transaction import Transaction

CONTEXT_MESSAGES: Final = "SELECT * FROM cairn.context_messages(:account, :session)"


async def uncovered_messages(tx: Transaction, scope: Scope, session_id: int) -> list[StoredMessage]:
    """Return the messages that the newest document does not cover: archives without one, then the live ones."""
    columns = sa.text(CONTEXT_MESSAGES).columns(
        t.messages.c.seq, t.messages.c.message_id, t.messages.c.role, t.messages.c.peer_id, t.messages.c.origin,
        t.messages.c.parts, t.messages.c.attributes, t.messages.c.tokens, t.messages.c.said_at,
        sa.column("archive_no", sa.Integer),
    )  # fmt: skip
    rows = await tx.execute(columns, {"account": scope.account_id, "session": session_id})
    return [stored_message(row) for row in rows.mappings()]
