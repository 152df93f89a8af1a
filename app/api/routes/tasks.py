"""Tasks: the work after a commit."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from app.api.auth import TaskReader, Tenant, services_of
from app.api.envelope import answers, ok, ok_page
from app.api.errors import invalid_fields
from app.api.event_stream import RECONNECT, SIGN_OF_LIFE, EventStream, event, event_id, events_of
from app.api.views.tasks import TASK_TYPE, TaskView, task_view
from app.domain.scope import Scope
from app.services.tasks import Tasks

DEFAULT_LISTED: Final = 50
MAX_LISTED: Final = 1_000
LONGEST_STREAM_SECONDS: Final = 3_600
"""A client that follows longer comes back by itself, and shows its key again."""

router: Final = APIRouter(prefix="/api/v1/tasks", tags=["tasks"])


@router.get("", responses=answers(list[TaskView]), summary="List the tasks")
async def list_tasks(
    request: Request,
    scope: TaskReader,
    task_type: str | None = None,
    status: str | None = None,
    resource_id: Annotated[str | None, Query(description="Name of a session.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = DEFAULT_LISTED,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> Response:
    """List the caller's tasks, the newest first.

    `has_more` and `next_cursor` stand beside the result: tasks that come in meanwhile shift no page.
    """
    if resource_id is not None and "\x00" in resource_id:
        raise invalid_fields([(("resource_id",), "must not contain the NUL character", "text")], "query")
    if task_type not in {None, TASK_TYPE}:
        return ok_page([], has_more=False, next_cursor=None)
    page = await services_of(request).tasks.list_recent(
        scope, session_name=resource_id, status=status, cursor=cursor, limit=limit
    )
    views = [task_view(scope, task) for task in page.tasks]
    return ok_page(views, has_more=page.has_more, next_cursor=views[-1]["task_id"] if page.has_more else None)


@router.get("/{task_id}", responses=answers(TaskView), summary="Look at a task")
async def get_task(request: Request, scope: TaskReader, task_id: str) -> Response:
    """Show how the work after a commit is doing, step by step."""
    return ok(task_view(scope, await services_of(request).tasks.get(scope, task_id)))


@router.get("/{task_id}/events", response_class=EventStream, responses=events_of(TaskView), summary="Follow a task")
async def follow_task(request: Request, scope: TaskReader, task_id: str) -> Response:
    """Send the task as it is and whenever it changes, as server-sent events, until it has ended.

    A client that comes back with `Last-Event-ID` is not sent that state again; 204 says that there will be no other.
    """
    tasks = services_of(request).tasks
    task, seen = await tasks.get(scope, task_id), request.headers.get("last-event-id")
    if task.status.is_final and seen == event_id(task_view(scope, task)):
        return Response(status_code=204)
    return EventStream(_events(tasks, scope, task_id, seen))


async def _events(tasks: Tasks, scope: Scope, task_id: str, seen: str | None) -> AsyncIterator[str]:
    ends = time.monotonic() + LONGEST_STREAM_SECONDS
    yield RECONNECT
    async with aclosing(tasks.follow(scope, task_id)) as states:
        async for task in states:
            if task is None:
                yield SIGN_OF_LIFE
            elif (view := task_view(scope, task)) and event_id(view) != seen:
                yield event("task", view)
            if time.monotonic() > ends:
                return


@router.post("/{task_id}/cancel", responses=answers(TaskView), summary="Cancel a task")
async def cancel_task(request: Request, scope: Tenant, task_id: str) -> Response:
    """End what waits and ask what runs to stop. The archived messages stay in the context."""
    return ok(task_view(scope, await services_of(request).tasks.cancel(scope, task_id)))


@router.post("/{task_id}/retry", responses=answers(TaskView), summary="Retry a failed task")
async def retry_task(request: Request, scope: Tenant, task_id: str) -> Response:
    """Run the failed and cancelled steps again. What a later commit took in meanwhile ends `covered` and is not redone.

    412 says that nothing failed.
    """
    return ok(task_view(scope, await services_of(request).tasks.retry(scope, task_id)))


@router.post("/{task_id}/discard", responses=answers(TaskView), summary="Give a failed task up")
async def discard_task(request: Request, scope: Tenant, task_id: str) -> Response:
    """Leave the messages of a failed or cancelled task out of contexts and prompts for good; they stay in the archive.

    412 says that it has not failed, 409 that a later commit is taking them in right now.
    """
    return ok(task_view(scope, await services_of(request).tasks.discard(scope, task_id)))
