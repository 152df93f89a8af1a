"""Requests that may be sent again: the key that names one, and the answer to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request under an Idempotency-Key. Another route or another body under the same key is another request."""

    key: str
    route: str
    body_sha256: bytes


@dataclass(frozen=True, slots=True)
class KeyedReply:
    """The answer to a keyed request as JSON text; replayed where nothing was done because it was given before."""

    text: str
    replayed: bool
