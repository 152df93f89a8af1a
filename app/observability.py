"""Logging for every process: who asked and which job ran, never what was said.

Log lines carry ids, counts, durations and error classes. Message text, prompts, answers, keys and addresses with
passwords stay out: callers pass ids, and what looks like a secret all the same is masked here.
"""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LogLevel = Literal["debug", "info", "warning", "error"]

SECRET_NAMES: Final = re.compile(r"(^|_)(password|secret|api_key|root_key|authorization|dsn|database_url|cookie)$")
_PASSWORD_IN_URL: Final = re.compile(r"(?<=://)([^:/@\s]*):[^@\s]*@")
MASK: Final = "***"
_QUIET_LIBRARIES: Final = (
    "alembic",
    "asyncio",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
    "urllib3",
    "uvicorn",
)


def configure_logging(level: LogLevel, *, as_json: bool) -> None:
    """Send the logs of Cairn and of its libraries to standard error: readable text, or one JSON object per line."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        mask_secrets,
    ]
    renderer: Processor
    exceptions: list[Processor] = [structlog.processors.format_exc_info] if as_json else []
    if as_json:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            pad_event_to=0,
            exception_formatter=structlog.dev.plain_traceback,  # the default one shows locals: what users wrote
        )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *exceptions, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for (
        library
    ) in _QUIET_LIBRARIES:  # below a warning they talk about themselves, some of them with addresses and bodies
        logging.getLogger(library).setLevel(logging.WARNING)


@contextmanager
def request_context(request_id: str) -> Iterator[None]:
    """Stamp every line logged inside with the id of a request."""
    with structlog.contextvars.bound_contextvars(request_id=request_id):
        yield


@contextmanager
def job_context(job_id: int, kind: str, attempt: int) -> Iterator[None]:
    """Stamp every line logged inside with the job that is running."""
    with structlog.contextvars.bound_contextvars(job_id=job_id, job_kind=kind, attempt=attempt):
        yield


def mask_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Return the event with the values of secret names, and passwords inside addresses, replaced."""
    for name, value in event.items():
        if value is not None and SECRET_NAMES.search(name):
            event[name] = MASK
        elif isinstance(value, str) and "://" in value:
            event[name] = _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", value)
    return event
