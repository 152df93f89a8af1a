"""Reading a request body: its size, its pace, its JSON, its schema, and what could not be stored.

Bodies are validated from their bytes in one pass. Only a body that looks suspicious, or that failed, is read a second
time, to say precisely what is wrong with it.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import ValidationError
from pydantic_core import to_json

from app.api.errors import Location, invalid_fields, validation_failure
from app.api.known_fields import KNOWN_FIELDS
from app.api.schemas.fields import Body
from app.domain.errors import TooLarge, TooSlow

_Schema = TypeVar("_Schema", bound=Body)

_SUSPECT_WORDS: Final = (rb"\u0000", b"NaN", b"Infinity")
_SUSPECT_NUMBER: Final = re.compile(rb"[0-9](?:[0-9]{18}|[eE]\+?[0-9]{3})")
"""Signs of what JSON allows, or its parsers do, and PostgreSQL does not: NUL, numbers without bound."""

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_EMPTY: Final = b"{}"
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How large what is sent may be, and how many seconds a client may stop in the middle of it."""

    body_bytes: int = 16 * _MIB
    message_bytes: int = 4 * _MIB
    import_bytes: int = 1024 * _MIB
    pause_seconds: float = 30.0


DEFAULT_LIMITS: Final = BodyLimits()


def limits_of(request: Request) -> BodyLimits:
    limits: BodyLimits = request.app.state.limits
    return limits


async def read_body(request: Request, schema: type[_Schema]) -> _Schema:
    """Return the body of a request; an empty one counts as {}.

    Raises: TooLarge, TooSlow, InvalidInput naming every field that does not fit.
    """
    raw = await _read(request, limits_of(request).body_bytes) or _EMPTY
    request.state.body_bytes = len(raw)
    try:
        body = schema.model_validate_json(raw)
    except ValidationError as error:
        refuse_unstorable(raw)
        known = KNOWN_FIELDS[f"{request.method} {request.scope['route'].path}"]
        raise validation_failure(error, known) from None
    if looks_unstorable(raw):
        refuse_unstorable(raw)
    return body


async def _read(request: Request, limit: int) -> bytes:
    return b"".join([chunk async for chunk in body_chunks(request, limit)])


async def body_chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield a body as it comes in. Raises: TooLarge past the limit, TooSlow when the client stops for too long."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(("body",), limit)
    size = 0
    stream = aiter(request.stream())
    while (chunk := await _next(stream, limits_of(request).pause_seconds)) is not None:
        size += len(chunk)
        if size > limit:
            raise _too_large(("body",), limit)
        yield chunk


async def _next(stream: AsyncIterator[bytes], pause_seconds: float) -> bytes | None:
    try:
        async with asyncio.timeout(pause_seconds):
            return await anext(stream, None)
    except TimeoutError:
        raise TooSlow(f"The rest of the body did not come within {pause_seconds:g} seconds.") from None


def refuse_large_messages(request: Request, messages: Sequence[Body], place: Location = ()) -> None:
    """Raise TooLarge naming the largest field of the first message that is larger than one may be, as JSON.

    place: where the messages stand in the body, empty where the body is the message.
    """
    limit = limits_of(request).message_bytes
    if request.state.body_bytes <= limit:
        return
    for position, message in enumerate(messages):
        sizes = {name: _json_bytes(getattr(message, name)) for name in message.model_fields_set}
        if not place or sum(sizes.values()) > limit:
            where = (*place, position) if place else ()
            raise _too_large(("body", *where, max(sizes, key=lambda name: sizes[name])), limit)


def _json_bytes(value: object) -> int:
    return len(to_json(value, inf_nan_mode="constants"))


def _too_large(location: Location, limit: int) -> TooLarge:
    field = ".".join(str(item) for item in location)
    message = f"must not be larger than {limit} bytes"
    fault = {"loc": list(location), "message": message, "type": "too_large"}
    return TooLarge(f"{field}: {message}", {"field": field, "limit_bytes": limit, "validation_errors": [fault]})


def looks_unstorable(raw: bytes) -> bool:
    """Tell whether a second look is worth its time."""
    return any(word in raw for word in _SUSPECT_WORDS) or _SUSPECT_NUMBER.search(raw) is not None


def refuse_unstorable(raw: bytes) -> None:
    """Raise InvalidInput naming each place with a NUL, half a surrogate pair or a number beyond 64 bits.

    Bytes that are no JSON at all pass: whoever validated them says so better.
    """
    try:
        value = json.loads(raw.decode())
    except RecursionError:
        raise invalid_fields([((), "nested too deep", "json_invalid")]) from None
    except ValueError:
        return
    faults = list(_faults(value))
    if faults:
        raise invalid_fields(faults)


def _faults(root: Any) -> Iterator[tuple[Location, str, str]]:
    stack: list[tuple[Location, Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        complaint = _complaint(value)
        if complaint:
            yield path, complaint, "unstorable"
        if isinstance(value, list):
            stack.extend(((*path, position), item) for position, item in enumerate(value))
        elif isinstance(value, dict):
            for name, item in value.items():
                stack.append(((*path, _shown(name)), item))
                if complaint := _complaint(name):
                    yield (*path, _shown(name)), complaint, "unstorable"


def _complaint(value: object) -> str | None:
    match value:
        case str() if "\x00" in value:
            return "must not contain the NUL character"
        case str() if _SURROGATE.search(value):
            return "must not contain half of a surrogate pair"
        case int() if not _INT_MIN <= value <= _INT_MAX:
            return "must fit into 64 bits"
        case float() if not math.isfinite(value):
            return "must be a finite number"
        case _:
            return None


def _shown(name: str) -> str:
    return _SURROGATE.sub("\ufffd", name).replace("\x00", "\ufffd")
