from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from app.domain.archives import Archive, StepOutcome
from app.domain.jobs import StepReport
from app.domain.tasks import Task, TaskStatus, task_status

NOW = datetime(2031, 6, 2, tzinfo=UTC)
STEP = StepReport(
    step="working_memory", state="failed", outcome="failed", attempts=5, error_class="MODEL_UNAVAILABLE",
    error_text="The model is down.", started_at=NOW, finished_at=NOW,
)  # fmt: skip
ARCHIVE = Archive(
    session_id=1, archive_no=1, task_id=UUID(int=1), first_seq=1, last_seq=9, tokens=90, trigger="request",
    status="failed", outcome="failed", working_memory=StepOutcome.FAILED, long_term_memory=StepOutcome.OFF,
    embedding="skipped", abstract="", has_document=False, document_revision=0, document_source=None,
    document_provider=None, covers_from_seq=None, created_at=NOW, started_at=NOW, finished_at=NOW,
)  # fmt: skip


@pytest.mark.parametrize("status", ["pending", "running", "completed", "failed", "cancelled"])
def test_a_task_is_in_the_state_of_its_archive(status: str) -> None:
    assert task_status(status, [STEP]) == status


def test_a_discarded_archive_is_a_cancelled_task() -> None:
    assert task_status("discarded", []) is TaskStatus.CANCELLED


@pytest.mark.parametrize(
    ("archive", "state", "asked", "status"),
    [
        ("running", "running", True, TaskStatus.CANCELLING),
        ("pending", "running", True, TaskStatus.CANCELLING),
        ("running", "running", False, TaskStatus.RUNNING),
        ("running", "ready", True, TaskStatus.RUNNING),
        ("completed", "done", True, TaskStatus.COMPLETED),
        ("cancelled", "cancelled", True, TaskStatus.CANCELLED),
    ],
)
def test_a_task_is_cancelling_while_what_runs_was_asked_to_stop(
    archive: str, state: str, asked: bool, status: TaskStatus
) -> None:
    assert task_status(archive, [replace(STEP, state=state, cancel_asked=asked)]) is status


@pytest.mark.parametrize(
    ("status", "final"), [(status, status in {"completed", "failed", "cancelled"}) for status in TaskStatus]
)
def test_three_states_are_final(status: TaskStatus, final: bool) -> None:
    assert status.is_final is final


def test_a_failed_task_says_which_step_failed_and_why() -> None:
    other = replace(STEP, step="long_term_memory", state="done", outcome="applied", error_text=None)
    assert Task(ARCHIVE, "talk", (STEP, other)).error == "working_memory: The model is down."
    assert Task(ARCHIVE, "talk", (replace(STEP, error_text=None),)).error == "working_memory: MODEL_UNAVAILABLE"
    assert Task(ARCHIVE, "talk", ()).error == "failed"
    assert Task(replace(ARCHIVE, status="completed"), "talk", (other,)).error is None
