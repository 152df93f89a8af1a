"""Commit a session: archive what is live, and let a worker do the rest."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.body import read_body
from app.api.envelope import answers, ok_without_nulls, telemetry
from app.api.parameters import SessionName
from app.api.schemas.commits import CommitSession
from app.api.views.tasks import (
    AcceptedView,
    CommitAdditions,
    SkippedView,
    accepted_view,
    skipped_view,
    task_view,
)
from app.domain.archives import Skipped

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/commit", tags=["commits"])


@router.post("", responses=answers(AcceptedView | SkippedView), summary="Commit a session")
async def commit_session(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Archive the live messages but the newest keep_recent_count. No model is asked before the answer.

    `accepted` names the task of the work that follows; `skipped` says why there was nothing to archive. With `wait`
    the answer comes when that work has ended, and shows it under `cairn.task`.
    """
    body = await read_body(request, CommitSession)
    body.refuse_what_is_not_built()
    services, trace_id = services_of(request), request.scope["state"]["request_id"]
    additions: CommitAdditions = {"provider": services.provider}
    sealed = await services.commits.seal(scope, session_id, body.keep_recent_count)
    result: AcceptedView | SkippedView
    if isinstance(sealed, Skipped):
        result = skipped_view(session_id, sealed.reason.value, trace_id, additions)
    else:
        task_id = str(sealed.task_id)
        if body.wait:
            task = await services.tasks.wait(scope, task_id, body.wait_seconds)
            additions["task"] = task_view(scope, task)
        result = accepted_view(scope, session_id, sealed.archive_no, task_id, trace_id, additions)
    return ok_without_nulls(result, telemetry(request, body.telemetry, "session.commit"))
