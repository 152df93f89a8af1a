"""Tasks and commits as clients read them."""

from datetime import datetime
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from app.api.views.names import archive_uri, microseconds
from app.api.views.steps import StepView, step_views
from app.domain.archives import Sealed, Skipped, SkipReason, StepOutcome, archive_id
from app.domain.freshness import archive_freshness
from app.domain.scope import Scope
from app.domain.sessions import SpentTokens
from app.domain.tasks import Task, TaskStatus

TASK_TYPE: Final = "session_commit"


class TaskAdditions(TypedDict):
    """What only Cairn says about a task: which archive it is, what it came to and how its steps are doing."""

    outcome: str | None
    working_memory: str
    archive_id: str
    archive_uri: str
    provider: str | None
    steps: list[StepView]


class ModelTokens(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class TotalTokens(TypedDict):
    total_tokens: int


class TokenUsage(TypedDict):
    llm: ModelTokens
    embedding: TotalTokens
    total: TotalTokens


class TaskOutcome(TypedDict):
    """shortened_messages are the seqs of messages of which the model saw the beginning and the end only."""

    outcome: str | None
    provider: str | None
    shortened_messages: list[int]


class TaskResult(TypedDict):
    session_id: str
    archive_uri: str
    memories_extracted: dict[str, int]
    memory_extraction: dict[str, Any]
    token_usage: TokenUsage
    memory_diff_uri: str | None
    active_count_updated: int
    cairn: TaskOutcome


class TaskView(TypedDict):
    task_id: str
    task_type: str
    status: str
    created_at: float
    updated_at: float
    resource_id: str
    meta: dict[str, Any]
    stage: str
    result: TaskResult | None
    error: str | None
    created_at_iso: str
    updated_at_iso: str
    cairn: TaskAdditions


class CommitAdditions(TypedDict):
    """What only Cairn says about a commit; task is there when the caller waited for it."""

    provider: str
    archive_id: NotRequired[str]
    task: NotRequired[TaskView]


class AcceptedView(TypedDict):
    session_id: str
    status: str
    task_id: str
    archive_uri: str
    archived: bool
    trace_id: str
    estimated_active_tokens: int
    budget_exceeded: bool
    cairn: CommitAdditions


class SkippedView(TypedDict):
    session_id: str
    status: str
    task_id: None
    archive_uri: None
    archived: bool
    reason: str
    trace_id: str
    estimated_active_tokens: NotRequired[int]
    budget_exceeded: NotRequired[bool]
    cairn: CommitAdditions


def task_view(scope: Scope, task: Task) -> TaskView:
    archive = task.archive
    created, updated = archive.created_at, _updated_at(task)
    return {
        "task_id": str(archive.task_id),
        "task_type": TASK_TYPE,
        "status": task.status.value,
        "created_at": created.timestamp(),
        "updated_at": updated.timestamp(),
        "resource_id": task.session_name,
        "meta": {},
        "stage": _stage(task),
        "result": _result(scope, task) if task.status is TaskStatus.COMPLETED else None,
        "error": task.error,
        "created_at_iso": microseconds(created),
        "updated_at_iso": microseconds(updated),
        "cairn": {
            "outcome": archive.outcome,
            "working_memory": archive_freshness(archive).value,
            "archive_id": archive.archive_id,
            "archive_uri": archive_uri(scope, task.session_name, archive.archive_no),
            "provider": archive.document_provider,
            "steps": step_views(archive, task.steps),
        },
    }


def accepted_view(
    scope: Scope, session_name: str, sealed: Sealed, trace_id: str, additions: CommitAdditions
) -> AcceptedView:
    return {
        "session_id": session_name,
        "status": "accepted",
        "task_id": str(sealed.task_id),
        "archive_uri": archive_uri(scope, session_name, sealed.archive_no),
        "archived": True,
        "trace_id": trace_id,
        "estimated_active_tokens": sealed.kept.active_tokens,  # both of commits by turns only
        "budget_exceeded": sealed.kept.budget_exceeded,
        "cairn": {**additions, "archive_id": archive_id(sealed.archive_no)},
    }


def skipped_view(session_name: str, skipped: Skipped, trace_id: str, additions: CommitAdditions) -> SkippedView:
    view: SkippedView = {
        "session_id": session_name,
        "status": "skipped",
        "task_id": None,
        "archive_uri": None,
        "archived": False,
        "reason": skipped.reason.value,
        "trace_id": trace_id,
        "cairn": additions,
    }
    if skipped.reason is SkipReason.ALL_WITHIN_KEEP_WINDOW:
        view["estimated_active_tokens"] = skipped.kept.active_tokens
        view["budget_exceeded"] = skipped.kept.budget_exceeded
    return view


def _result(scope: Scope, task: Task) -> TaskResult:
    archive = task.archive
    return {
        "session_id": task.session_name,
        "archive_uri": archive_uri(scope, task.session_name, archive.archive_no),
        "memories_extracted": {},
        "memory_extraction": {
            "skipped": archive.long_term_memory is StepOutcome.OFF,
            "skipped_operations": [],
        },
        "token_usage": _token_usage(task.spent),
        "memory_diff_uri": None,
        "active_count_updated": 0,
        "cairn": {
            "outcome": archive.outcome,
            "provider": archive.document_provider,
            "shortened_messages": task.shortened_messages,
        },
    }


def _token_usage(spent: SpentTokens) -> TokenUsage:
    total = spent.prompt + spent.completion
    return {
        "llm": {"prompt_tokens": spent.prompt, "completion_tokens": spent.completion, "total_tokens": total},
        "embedding": {"total_tokens": 0},
        "total": {"total_tokens": total},
    }


def _stage(task: Task) -> str:
    """Return the step that runs, else the state of the whole."""
    return next((step.step for step in task.steps if step.state == "running"), task.status.value)


def _updated_at(task: Task) -> datetime:
    archive = task.archive
    moments = [archive.created_at, archive.started_at, archive.finished_at]
    moments += [moment for step in task.steps for moment in (step.started_at, step.finished_at)]
    return max(moment for moment in moments if moment is not None)
