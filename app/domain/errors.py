"""What can go wrong, by kind and stable code.

    AppError
    ├── InvalidInput        the caller sent something we do not take
    ├── Unauthenticated     no key, or a key nobody knows
    ├── Forbidden           a key that may not do this
    ├── NotFound            no such thing in the caller's room
    ├── Conflict            it clashes with what is there
    │   ├── AlreadyExists
    │   └── PreconditionFailed
    ├── TooLarge
    ├── TooSlow             the caller stopped in the middle of a request
    ├── RateLimited
    ├── NotImplementedHere  a route of the peer that is not Cairn's job
    └── Unavailable         try again later: database, model, worker
        ├── ModelUnavailable
        │   └── ModelPaused
        ├── Deadlock        two requests waited for each other, and this one gave way
        └── StaleDocument   the base moved between reading and applying

    and, seen by workers only: ModelRefused, ModelAnswerUnusable, JobLost

Kinds carry no HTTP status: each doorway maps them once. `code` is what programs read and never changes;
`message` is for people and says what to do next; `details` is structured and safe to show.
"""

from collections.abc import Mapping
from typing import ClassVar


class AppError(Exception):
    """Base of every error that Cairn raises on purpose."""

    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, object] = dict(details or {})


class InvalidInput(AppError):
    code = "INVALID_ARGUMENT"


class Unauthenticated(AppError):
    code = "UNAUTHENTICATED"


class Forbidden(AppError):
    code = "PERMISSION_DENIED"


class NotFound(AppError):
    code = "NOT_FOUND"


class Conflict(AppError):
    code = "CONFLICT"


class AlreadyExists(Conflict):
    code = "ALREADY_EXISTS"


class PreconditionFailed(Conflict):
    code = "FAILED_PRECONDITION"


class TooLarge(AppError):
    code = "INVALID_ARGUMENT"


class TooSlow(AppError):
    code = "DEADLINE_EXCEEDED"


class RateLimited(AppError):
    code = "RESOURCE_EXHAUSTED"


class NotImplementedHere(AppError):
    code = "UNIMPLEMENTED"


class Unavailable(AppError):
    """The same request may succeed later.

    retry_after_seconds is a hint for the caller, None when nobody knows.
    """

    code = "UNAVAILABLE"

    def __init__(
        self, message: str, details: Mapping[str, object] | None = None, *, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message, details)
        self.retry_after_seconds = retry_after_seconds


class Deadlock(Unavailable):
    """Two transactions waited for each other and this one was rolled back: nothing of it happened, try it again."""


class ModelUnavailable(Unavailable):
    """The model did not answer: network, timeout, 429 or 5xx."""

    code = "MODEL_UNAVAILABLE"


class ModelPaused(ModelUnavailable):
    """The model was not asked: its service failed too often in a row, and is left alone for retry_after_seconds."""


class ModelRefused(AppError):
    """The model service will not take this request, however often it is sent: bad key, unknown model, bad request."""

    code = "MODEL_REFUSED"


class ModelAnswerUnusable(AppError):
    """The model answered, but nothing in the answer can be applied."""

    code = "AGENT_OUTPUT_INVALID"


class StaleDocument(Unavailable):
    """The working memory this update was merged into is no longer the newest one: read it and merge again."""

    code = "CONFLICT"


class JobLost(AppError):
    """The job is no longer ours: its lease passed on, it was cancelled, or its session is gone. Nothing was written."""

    code = "JOB_LOST"


def session_not_found(name: str) -> NotFound:
    """Return the error clients recognise by its exact words (`Session not found`)."""
    return NotFound(f"Session not found: {name}", {"type": "session", "resource": name})


def archive_not_found(archive_id: str) -> NotFound:
    return NotFound(f"Archive {archive_id} not found", {"type": "archive", "resource": archive_id})


def task_not_found(task_id: str) -> NotFound:
    return NotFound(f"Task not found: {task_id}", {"type": "task", "resource": task_id})
