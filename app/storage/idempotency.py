"""Answers that are given again: kept in the transaction of what they answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson
import sqlalchemy as sa

from app.domain.errors import Conflict
from app.domain.idempotency import KeyedReply, KeyedRequest
from app.domain.scope import Scope
from app.storage.transaction import Transaction

_RECALL: Final = sa.text("SELECT route, body_sha256, reply FROM cairn.recall_reply(:account, :user, :key)")
_KEEP: Final = sa.text(
    "INSERT INTO cairn.idempotency_keys (account_id, user_id, key, route, body_sha256, reply)"
    " VALUES (:account, :user, :key, :route, :body_sha256, CAST(:reply AS json))"
)


async def once(
    tx: Transaction, scope: Scope, request: KeyedRequest, act: Callable[[], Awaitable[Mapping[str, object]]]
) -> KeyedReply:
    """Act and keep the answer, or return the one that was given before under this key, byte for byte.

    Requests with the same key wait for each other, so call this before anything else is locked. Only what succeeds is
    kept: what `act` raises rolls everything back, and the key is free again.

    Raises: Conflict when the key was used for another route or another body.
    """
    whose = {"account": scope.account_id, "user": scope.user_id, "key": request.key}
    known = (await tx.execute(_RECALL, whose)).one()
    if known.route is not None:
        if (known.route, bytes(known.body_sha256)) != (request.route, request.body_sha256):
            raise Conflict(
                "This Idempotency-Key was used before for another request; nothing was done. "
                "Send a new key for a new request, or the same request to repeat it.",
                {"field": "Idempotency-Key", "route": known.route},
            )
        return KeyedReply(known.reply, replayed=True)
    reply = orjson.dumps(await act()).decode()
    kept = {**whose, "route": request.route, "body_sha256": request.body_sha256, "reply": reply}
    await tx.execute(_KEEP, kept)
    return KeyedReply(reply, replayed=False)
