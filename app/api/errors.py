"""From kinds of errors to HTTP, once."""

import math
import traceback
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Final, TypeAlias

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from app.api.envelope import failure
from app.api.schemas.parts import PART_TAGS
from app.domain.errors import (
    AppError,
    Conflict,
    Forbidden,
    InvalidInput,
    ModelUnavailable,
    NotFound,
    NotImplementedHere,
    PreconditionFailed,
    RateLimited,
    StaleDocument,
    TooLarge,
    TooSlow,
    Unauthenticated,
    Unavailable,
)

log = structlog.get_logger(__name__)

Location: TypeAlias = tuple[str | int, ...]

STATUS: Final[Mapping[type[AppError], HTTPStatus]] = {
    InvalidInput: HTTPStatus.BAD_REQUEST,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    TooSlow: HTTPStatus.REQUEST_TIMEOUT,
    RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    NotImplementedHere: HTTPStatus.NOT_IMPLEMENTED,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    StaleDocument: HTTPStatus.CONFLICT,
    AppError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""A kind that is missing takes the status of its nearest ancestor."""

_SHOWN_ERRORS: Final = 20
_SHOWN_NAME: Final = 100


def status_of(kind: type[AppError]) -> HTTPStatus:
    """Return the HTTP status under which a kind of error is answered."""
    return next(STATUS[ancestor] for ancestor in kind.__mro__ if ancestor in STATUS)


def install(app: FastAPI) -> None:
    """Let the application answer every error in the envelope."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(RequestValidationError, _bad_parameters)
    app.add_exception_handler(HTTPException, _http_error)


def validation_failure(error: ValidationError, known: frozenset[str]) -> InvalidInput:
    """Return the refusal of a body, naming its fields. known: what the body may contain, for the hint."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    unknown = f"unknown field; known are {', '.join(sorted(known))}"
    return invalid_fields(
        (
            tuple(item for item in fault["loc"] if item not in PART_TAGS),
            unknown if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1 else _message(fault["msg"]),
            fault["type"],
        )
        for fault in found
    )


def invalid_fields(faults: Iterable[tuple[Location, str, str]], where: str = "body") -> InvalidInput:
    """Return the refusal of a request. faults: the place in it, what is wrong there, and a name for that."""
    errors = [
        {"loc": [where, *(_cut(item) for item in location)], "message": message, "type": kind}
        for location, message, kind in faults
    ][:_SHOWN_ERRORS]
    text = "; ".join(f"{'.'.join(str(item) for item in error['loc'])}: {error['message']}" for error in errors)
    return InvalidInput(f"Invalid request parameters: {text}", {"validation_errors": errors})


def _cut(item: str | int) -> str | int:
    return item if isinstance(item, int) or len(item) <= _SHOWN_NAME else f"{item[:_SHOWN_NAME]}…"


def _message(text: str) -> str:
    return "unknown field" if text == "Extra inputs are not permitted" else text


async def _app_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    status = status_of(type(error))
    headers: dict[str, str] = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_seconds or 1)))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request_refused", code=error.code, error=type(error).__name__)
    return failure(status, error.code, error.message, error.details, headers)


async def _bad_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [(tuple(fault["loc"][1:]), _message(str(fault["msg"])), str(fault["type"])) for fault in error.errors()]
    where = str(error.errors()[0]["loc"][0]) if faults else "request"
    return await _app_error(request, invalid_fields(faults, where))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {HTTPStatus.NOT_FOUND: "NOT_FOUND"}.get(HTTPStatus(error.status_code), "UNKNOWN")
    return failure(error.status_code, code, str(error.detail), headers=error.headers)


def _causes(error: BaseException) -> Iterator[str]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield type(link).__qualname__
        link = link.__cause__ or link.__context__


def answer_bug(error: Exception) -> Response:
    """Log an exception that nobody expected and return the reply to it, which says nothing about it.

    The words of the exception stay out of the log too: libraries quote values in them, and values are what users wrote.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("request_failed", errors=list(_causes(error)), traceback=frames)
    return failure(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "INTERNAL",
        "Internal error; the log has it under this request's X-Request-ID.",
    )
