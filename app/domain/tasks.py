"""A task: the whole work that follows one commit, as clients ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.archives import Archive
from app.domain.jobs import StepReport


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
    """An archive's work: its steps, and what they came to."""

    archive: Archive
    session_name: str
    steps: tuple[StepReport, ...]

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


def task_status(archive_status: str, steps: Sequence[StepReport]) -> TaskStatus:
    """Return the state clients see; a discarded archive is a task that was cancelled."""
    if archive_status == "discarded":
        return TaskStatus.CANCELLED
    status = TaskStatus(archive_status)
    asked = any(step.cancel_asked and step.state == "running" for step in steps)
    return TaskStatus.CANCELLING if asked and not status.is_final else status
