"""What a failed call to a model service means: worth another attempt, or never.

Bodies of errors are read but never passed on: services repeat prompts and keys in them. What people get to see is the
status and, where it is a plain word, the service's own error code.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

from openai import APIStatusError

from app.domain.errors import AppError, ModelRefused, ModelUnavailable

LONGEST_RETRY_AFTER_SECONDS: Final = 3600.0

_MOST_MATCHED: Final = 4000
_PLAIN_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_.-]{1,40}$")
_CONTEXT: Final = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|max(?:imum)?[_ ](?:prompt|input)|too many (?:input )?tokens|"
    r"(?:prompt|input|request) (?:is )?too (?:long|large)|reduce the length",
    re.IGNORECASE,
)
_POLICY: Final = re.compile(r"content[_ ](?:policy|filter|management)|safety|moderation|flagged", re.IGNORECASE)
_TRANSIENT: Final = frozenset({408, 409, 423, 425, 429})
_REASONS: Final = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "unknown_model",
    413: "context_length",
}
_ADVICE: Final = {
    "authentication": "Check the key of the model service.",
    "billing": "The account of the model service has to be topped up.",
    "permission": "The key may not use this model.",
    "unknown_model": "Check the address of the model service and the name of the model.",
    "context_length": "The prompt is larger than the model's context: lower the configured context size.",
    "content_policy": "The service's content policy turned the prompt away.",
    "bad_request": "The service does not take the request as it is.",
}


def refusal_text(error: APIStatusError) -> str:
    """Return what a refusal says, for matching only: message, parameter and code, or the start of the raw body."""
    body = error.body
    if isinstance(body, Mapping):
        return " ".join(_said(body))[:_MOST_MATCHED]
    return error.response.text[:_MOST_MATCHED]


def _said(body: object) -> Iterator[str]:
    """Yield the texts of an error body, but not the request that some services repeat in it."""
    if isinstance(body, str | int):
        yield str(body)
    elif isinstance(body, Mapping):
        for key, value in body.items():
            if key not in {"input", "ctx", "request", "body"}:
                yield from _said(value)
    elif isinstance(body, list):
        for part in body[:20]:
            yield from _said(part)


def is_about_context(text: str) -> bool:
    return _CONTEXT.search(text) is not None


def meaning(error: APIStatusError) -> AppError:
    """Return the error that the callers of a model know."""
    status = error.status_code
    details: dict[str, object] = {"status": status}
    if error.code and _PLAIN_CODE.match(error.code):
        details["service_code"] = error.code
    if status in _TRANSIENT or status >= 500:
        return ModelUnavailable(
            f"The model service answered {status}.", details, retry_after_seconds=retry_after(error.response.headers)
        )
    reason = _reason(status, refusal_text(error))
    return ModelRefused(f"The model service answered {status}. {_ADVICE[reason]}", {**details, "reason": reason})


def _reason(status: int, text: str) -> str:
    if status in {400, 413, 422} and is_about_context(text):
        return "context_length"
    if status in {400, 403, 422} and _POLICY.search(text):
        return "content_policy"
    return _REASONS.get(status, "bad_request")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait a service asks for, in seconds: never negative, at most an hour, None when it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    stated = headers.get("retry-after")
    seconds = _number(stated)
    if seconds is not None:
        return _bounded(seconds)
    try:
        until = parsedate_to_datetime(stated) if stated else None
    except ValueError:
        return None
    if until is None:
        return None
    return _bounded((until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp())


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and isfinite(number) else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)
