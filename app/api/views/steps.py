"""The steps of an archive as clients read them."""

from collections.abc import Sequence

from typing_extensions import TypedDict

from app.api.views.names import milliseconds_or_none
from app.domain.archives import Archive
from app.domain.jobs import StepReport
from app.domain.tasks import every_step


class StepView(TypedDict):
    """How one step is doing.

    state: waiting, ready, running, done, failed or cancelled; off or skipped where there is nothing to do. attempts are
    those begun, of max_attempts; next_attempt_at is the end of the pause after a failed one. pieces_done counts the
    pieces of a long archive that a model has answered.
    """

    step: str
    state: str
    outcome: str | None
    attempts: int
    max_attempts: int | None
    next_attempt_at: str | None
    error_class: str | None
    error: str | None
    pieces_done: int | None
    started_at: str | None
    finished_at: str | None


def step_views(archive: Archive, jobs: Sequence[StepReport]) -> list[StepView]:
    """Return every step of an archive, also those without a job."""
    return [_step_view(step) for step in every_step(archive, jobs)]


def _step_view(step: StepReport) -> StepView:
    return {
        "step": step.step,
        "state": step.state,
        "outcome": step.outcome,
        "attempts": step.attempts,
        "max_attempts": step.max_attempts,
        "next_attempt_at": milliseconds_or_none(step.next_attempt_at),
        "error_class": step.error_class,
        "error": step.error_text,
        "pieces_done": step.pieces_done,
        "started_at": milliseconds_or_none(step.started_at),
        "finished_at": milliseconds_or_none(step.finished_at),
    }
