"""Requests with an Idempotency-Key: read, told apart, and answered."""

import hashlib
import json
import re
from typing import Final

import orjson
from fastapi import Request, Response

from app.api.envelope import Telemetry, ok
from app.api.schemas.fields import Body
from app.domain.errors import InvalidInput
from app.domain.idempotency import KeyedReply, KeyedRequest

HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotency-Replayed"
_KEY: Final = re.compile(r"[ -~]{1,255}")
_HOW_TO_ANSWER: Final = frozenset({"telemetry", "wait", "timeout"})
"""Fields that say how to answer and not what to do: a repeat may ask otherwise."""


def keyed_request(request: Request, body: Body) -> KeyedRequest | None:
    """Return what a request's key stands for, None where it has none.

    Two requests are the same when key, route, path and the fields of the body are; spaces and the order of fields do
    not count. Raises: InvalidInput for a key that cannot be one.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise InvalidInput(f"{HEADER} must be 1 to 255 printable ASCII characters.", {"field": HEADER})
    fields = body.model_dump(mode="json", exclude_unset=True, exclude=set(_HOW_TO_ANSWER))
    asked = json.dumps([request.path_params, fields], sort_keys=True).encode()
    route = f"{request.method} {request.scope['route'].path}"
    return KeyedRequest(key, route, hashlib.sha256(asked).digest())


def replay_headers(reply: KeyedReply) -> dict[str, str]:
    """Return the header by which a client can tell an answer that was given before."""
    return {REPLAYED_HEADER: "true"} if reply.replayed else {}


def ok_keyed(reply: KeyedReply, telemetry: Telemetry = None) -> Response:
    """Return a kept answer as it was first given; its bytes are copied, not made again."""
    return ok(orjson.Fragment(reply.text), telemetry, replay_headers(reply))
