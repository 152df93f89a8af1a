"""Which use case does which kind of job."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from app.bootstrap import Services
from app.domain.jobs import Job, JobKind

Handler: TypeAlias = Callable[[Job], Awaitable[None]]


def handlers(services: Services) -> Mapping[JobKind, Handler]:
    """Return one handler per kind. A handler re-reads the state, and returns or raises; it never ends a job half."""
    return {JobKind.WORKING_MEMORY: services.working_memory.process}
