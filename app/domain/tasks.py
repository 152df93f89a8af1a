"""A task: the whole work that follows one commit, as clients ask for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.archives import Archive, StepOutcome
from app.domain.jobs import StepReport
from app.domain.sessions import SpentTokens

_STATES: Final = {
    "off": "off", "skipped": "skipped", "open": "waiting", "failed": "failed", "unusable": "failed",
    "cancelled": "cancelled", "discarded": "cancelled",
}  # fmt: skip
"""States of steps that have no job, by their outcome; all others are done."""

NOTHING_SPENT: Final = SpentTokens(0, 0)


class TaskStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED}


@dataclass(frozen=True, slots=True)
class Task:
    """An archive's work: its jobs, what they came to and what models cost for them."""

    archive: Archive
    session_name: str
    steps: tuple[StepReport, ...]
    spent: SpentTokens = NOTHING_SPENT

    @property
    def status(self) -> TaskStatus:
        return task_status(self.archive.status, self.steps)

    @property
    def shortened_messages(self) -> list[int]:
        """Return the seqs of the messages that no model saw in full."""
        return sorted({seq for step in self.steps for seq in step.shortened_messages})

    @property
    def error(self) -> str | None:
        """Return why the task failed, in one line, None unless it did."""
        if self.status is not TaskStatus.FAILED:
            return None
        reasons = [f"{step.step}: {step.error_text or step.error_class or step.outcome}" for step in self.steps
                   if step.state == "failed"]  # fmt: skip
        return "; ".join(reasons) or "failed"


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks, the newest first; the id of the last one is where the next page begins."""

    tasks: tuple[Task, ...]
    has_more: bool

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)


def every_step(archive: Archive, jobs: Sequence[StepReport]) -> list[StepReport]:
    """Return all steps of an archive, also those that need no job (off, skipped) or whose job is long gone."""
    reported = {job.step: job for job in jobs}
    outcomes = {
        "working_memory": archive.working_memory.value,
        "long_term_memory": archive.long_term_memory.value,
        "embedding": archive.embedding,
    }
    return [reported.get(step) or _without_job(step, outcome) for step, outcome in outcomes.items()]


def _without_job(step: str, outcome: str) -> StepReport:
    state = _STATES.get(outcome, "done")
    shown = None if outcome == StepOutcome.OPEN else outcome
    return StepReport(
        step, state, shown, attempts=0, error_class=None, error_text=None, started_at=None, finished_at=None
    )


def task_status(archive_status: str, steps: Sequence[StepReport]) -> TaskStatus:
    """Return the state clients see; a discarded archive is a task that was cancelled."""
    if archive_status == "discarded":
        return TaskStatus.CANCELLED
    status = TaskStatus(archive_status)
    asked = any(step.cancel_asked and step.state == "running" for step in steps)
    return TaskStatus.CANCELLING if asked and not status.is_final else status
