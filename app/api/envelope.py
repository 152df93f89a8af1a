"""The envelope that every reply of /api/v1 wears. /health, /ready and /metrics go without."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar
from uuid import uuid4

import orjson
from fastapi import Request, Response
from pydantic import BaseModel

from app.api.schemas.fields import TelemetryWish

JSON: Final = "application/json"
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1

Telemetry: TypeAlias = Mapping[str, object] | None

_Result = TypeVar("_Result")


class Reply(BaseModel, Generic[_Result]):
    """A successful reply, always with HTTP status 200."""

    status: Literal["ok"]
    result: _Result
    error: None = None
    telemetry: dict[str, Any] | None = None
    profile: None = None


class ErrorBody(BaseModel):
    """What went wrong: `code` is for programs and never changes, `message` is for people."""

    code: str
    message: str
    details: dict[str, Any]


class ErrorReply(BaseModel):
    """Any other reply."""

    status: Literal["error"]
    result: None = None
    error: ErrorBody
    telemetry: None = None
    profile: None = None


def answers(result: Any) -> dict[int | str, dict[str, Any]]:
    """Return what the documentation of a route says about its replies. result: the type inside the envelope."""
    return {
        200: {"model": Reply[result], "description": "Done."},
        "default": {"model": ErrorReply, "description": "Refused or failed; `error.code` says why."},
    }


def encoded(value: object, default: Callable[[Any], object] | None = None) -> bytes:
    """Return a value as JSON. default: what to write for a value that JSON has no form for."""
    try:
        return orjson.dumps(value, default, orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:  # 1e30 was sent, and is an integer of 31 digits when the database gives it back
        return orjson.dumps(_with_floats(value), default, orjson.OPT_PASSTHROUGH_DATETIME)


def _with_floats(value: object) -> object:
    match value:
        case dict():
            return {name: _with_floats(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_floats(item) for item in value]
        case int() if not _INT_MIN <= value <= _INT_MAX:
            return float(value)
        case _:
            return value


def ok(result: object, telemetry: Telemetry = None, headers: Mapping[str, str] | None = None) -> Response:
    """Return the reply of a route that succeeded."""
    body = {"status": "ok", "result": result, "error": None, "telemetry": telemetry, "profile": None}
    return Response(encoded(body), headers=headers, media_type=JSON)


def ok_page(result: Sequence[object], *, has_more: bool, next_cursor: str | None) -> Response:
    """Return a page of a list. The result is the bare list, so what follows it stands beside it."""
    body = {"status": "ok", "result": result, "error": None, "telemetry": None, "profile": None}
    return Response(encoded({**body, "has_more": has_more, "next_cursor": next_cursor}), media_type=JSON)


def ok_without_nulls(result: object, telemetry: Telemetry = None, headers: Mapping[str, str] | None = None) -> Response:
    """Return the same for the routes whose replies leave the null fields out."""
    body: dict[str, object] = {"status": "ok", "result": result}
    if telemetry is not None:
        body["telemetry"] = telemetry
    return Response(encoded(body), headers=headers, media_type=JSON)


def failure(
    status: int,
    code: str,
    message: str,
    details: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the reply of a route that refused or failed."""
    body = {
        "status": "error",
        "result": None,
        "error": {"code": code, "message": message, "details": dict(details or {})},
        "telemetry": None,
        "profile": None,
    }
    return Response(orjson.dumps(body, default=str), int(status), headers, JSON)


def telemetry(request: Request, wish: TelemetryWish, operation: str) -> Telemetry:
    """Return the telemetry a caller asked for with `true` or {"summary": bool}, None when it did not ask."""
    if not wish:
        return None
    reply: dict[str, object] = {"id": f"tm_{uuid4().hex}"}
    if wish is True or wish.summary:
        duration_ms = round((time.perf_counter() - request.scope["state"]["started"]) * 1000, 3)
        reply["summary"] = {"operation": operation, "status": "ok", "duration_ms": duration_ms}
    return reply
