"""Tasks: the work after a commit."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from app.api.auth import TaskReader, Tenant, services_of
from app.api.envelope import answers, ok
from app.api.errors import invalid_fields
from app.api.views.tasks import TASK_TYPE, TaskView, task_view

DEFAULT_LISTED: Final = 50
MAX_LISTED: Final = 1_000

router: Final = APIRouter(prefix="/api/v1/tasks", tags=["tasks"])


@router.get("", responses=answers(list[TaskView]), summary="List the tasks")
async def list_tasks(
    request: Request,
    scope: TaskReader,
    task_type: str | None = None,
    status: str | None = None,
    resource_id: Annotated[str | None, Query(description="Name of a session.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = DEFAULT_LISTED,
) -> Response:
    """List the caller's tasks, the newest first."""
    if resource_id is not None and "\x00" in resource_id:
        raise invalid_fields([(("resource_id",), "must not contain the NUL character", "text")], "query")
    if task_type not in {None, TASK_TYPE}:
        return ok([])
    tasks = await services_of(request).tasks.list_recent(scope, session_name=resource_id, status=status, limit=limit)
    return ok([task_view(scope, task) for task in tasks])


@router.get("/{task_id}", responses=answers(TaskView), summary="Look at a task")
async def get_task(request: Request, scope: TaskReader, task_id: str) -> Response:
    """Show how the work after a commit is doing, step by step."""
    return ok(task_view(scope, await services_of(request).tasks.get(scope, task_id)))


@router.post("/{task_id}/cancel", responses=answers(TaskView), summary="Cancel a task")
async def cancel_task(request: Request, scope: Tenant, task_id: str) -> Response:
    """End what waits and ask what runs to stop. The archived messages stay in the context."""
    return ok(task_view(scope, await services_of(request).tasks.cancel(scope, task_id)))
