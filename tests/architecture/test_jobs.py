"""Every kind of job has a handler, and nothing handles a kind that is none."""

from typing import cast

from app.bootstrap import Services
from app.domain.jobs import JobKind
from app.worker.handlers import handlers


class _AnyService:
    def __getattr__(self, name: str) -> object:
        return self


def test_kinds_and_handlers_are_pairs() -> None:
    assert set(handlers(cast("Services", _AnyService()))) == set(JobKind)
