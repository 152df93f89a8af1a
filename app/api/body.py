"""Reading a request body: its size, its JSON, its schema, and what could not be stored.

Bodies are validated from their bytes in one pass. Only a body that looks suspicious, or that failed, is read a second
time, to say precisely what is wrong with it.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import ValidationError

from app.api.errors import Location, invalid_fields, validation_failure
from app.api.known_fields import KNOWN_FIELDS
from app.api.schemas.fields import Body
from app.domain.errors import TooLarge

_Schema = TypeVar("_Schema", bound=Body)

_SUSPECT_WORDS: Final = (rb"\u0000", b"NaN", b"Infinity")
_SUSPECT_NUMBER: Final = re.compile(rb"[0-9](?:[0-9]{18}|[eE]\+?[0-9]{3})")
"""Signs of what JSON allows, or its parsers do, and PostgreSQL does not: NUL, numbers without bound."""

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_EMPTY: Final = b"{}"


async def read_body(request: Request, schema: type[_Schema]) -> _Schema:
    """Return the body of a request; an empty one counts as {}.

    Raises: TooLarge, InvalidInput naming every field that does not fit.
    """
    raw = await _read(request, request.app.state.max_body_bytes) or _EMPTY
    try:
        body = schema.model_validate_json(raw)
    except ValidationError as error:
        refuse_unstorable(raw)
        known = KNOWN_FIELDS[f"{request.method} {request.scope['route'].path}"]
        raise validation_failure(error, known) from None
    if any(word in raw for word in _SUSPECT_WORDS) or _SUSPECT_NUMBER.search(raw):
        refuse_unstorable(raw)
    return body


async def _read(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes.", {"limit_bytes": limit})


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
