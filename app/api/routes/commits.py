"""Commit a session: archive what is live, and let a worker do the rest."""

from functools import partial
from typing import Any, Final

import orjson
from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.body import read_body
from app.api.envelope import answers, ok_without_nulls, telemetry
from app.api.idempotency import keyed_request, replay_headers
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
from app.domain.archives import SealResult, Skipped
from app.domain.scope import Scope

router: Final = APIRouter(prefix="/api/v1/sessions/{session_id}/commit", tags=["commits"])


@router.post("", responses=answers(AcceptedView | SkippedView), summary="Commit a session")
async def commit_session(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Archive the live messages but the newest keep_recent_count, or the newest turns within a budget of tokens.

    No model is asked before the answer. What is kept is remembered by the session.

    `accepted` names the task of the work that follows; `skipped` says why there was nothing to archive. With `wait`
    the answer comes when that work has ended, or after `timeout` seconds, and shows its state under `cairn.task`. With
    an `Idempotency-Key` a repeat archives nothing and answers the same.
    """
    body = await read_body(request, CommitSession)
    services, options = services_of(request), body.options()
    keyed = keyed_request(request, body)
    view = partial(_sealed_view, scope, session_id, services.provider, request.scope["state"]["request_id"])
    if keyed is None:
        reply = None
        result: dict[str, Any] = {**view(await services.commits.seal(scope, session_id, options))}
    else:
        reply = await services.commits.seal_once(scope, session_id, options, keyed, view)
        result = orjson.loads(reply.text)
    if body.wait and result["archived"]:
        task = await services.tasks.wait(scope, result["task_id"], body.wait_seconds)
        result["cairn"]["task"] = task_view(scope, task)
    headers = replay_headers(reply) if reply else None
    return ok_without_nulls(result, telemetry(request, body.telemetry, "session.commit"), headers)


def _sealed_view(
    scope: Scope, session_name: str, provider: str, trace_id: str, sealed: SealResult
) -> AcceptedView | SkippedView:
    additions: CommitAdditions = {"provider": provider}
    if isinstance(sealed, Skipped):
        return skipped_view(session_name, sealed, trace_id, additions)
    return accepted_view(scope, session_name, sealed, trace_id, additions)
