"""Sessions: make, list, look at, delete."""

from functools import partial
from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import Tenant, services_of
from app.api.body import read_body
from app.api.envelope import answers, ok, ok_without_nulls, telemetry
from app.api.idempotency import keyed_request, ok_keyed
from app.api.parameters import SessionName
from app.api.schemas.sessions import CreateSession, UpdateSessionConfig
from app.api.views.sessions import (
    CreatedSessionView,
    DeletedSessionView,
    SessionConfigView,
    SessionEntryView,
    SessionView,
    created_session_view,
    deleted_session_view,
    session_config_view,
    session_entry_view,
    session_view,
)

LISTED: Final = 10_000

router: Final = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])


@router.post("", responses=answers(CreatedSessionView), summary="Make a session")
async def create_session(request: Request, scope: Tenant) -> Response:
    """Make a session, under a fresh name where none is given. Adding a message makes its session too."""
    body = await read_body(request, CreateSession)
    sessions = services_of(request).sessions
    policies = body.policies(sessions.default_policy)
    keyed, view = keyed_request(request, body), partial(created_session_view, scope)
    if keyed is None:
        result = view(await sessions.create(scope, body.session_id, **policies))
        return ok(result, telemetry(request, body.telemetry, "session.create"))
    reply = await sessions.create_once(scope, body.session_id, keyed, view, **policies)
    return ok_keyed(reply, telemetry(request, body.telemetry, "session.create"))


@router.get("", responses=answers(list[SessionEntryView]), summary="List the sessions")
async def list_sessions(request: Request, scope: Tenant) -> Response:
    """List the caller's sessions, the one that spoke last first."""
    sessions = await services_of(request).sessions.list_recent(scope, limit=LISTED)
    return ok([session_entry_view(scope, session) for session in sessions])


@router.get("/{session_id}", responses=answers(SessionView), summary="Look at a session")
async def get_session(request: Request, scope: Tenant, session_id: SessionName, auto_create: bool = False) -> Response:
    """Show counters, policies and costs of a session. It is made only where auto_create says so."""
    details = await services_of(request).sessions.describe(scope, session_id, auto_create=auto_create)
    return ok(session_view(scope, details.session, details.spent))


@router.patch("/{session_id}/config", responses=answers(SessionConfigView), summary="Change a session")
async def update_session_config(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Change when a session commits itself, and the tags of what is remembered of it. Fields left out stay.

    Numbers out of range are taken for the nearest that is not; `auto_commit_policy: null` turns it off.
    """
    body = await read_body(request, UpdateSessionConfig)
    session = await services_of(request).sessions.configure(scope, session_id, body.changes())
    return ok_without_nulls(session_config_view(session), telemetry(request, body.telemetry, "session.update_config"))


@router.delete("/{session_id}", responses=answers(DeletedSessionView), summary="Delete a session")
async def delete_session(request: Request, scope: Tenant, session_id: SessionName) -> Response:
    """Delete a session with its messages, archives, documents and jobs, and say how many rows of each table went.

    A job that runs is lost: nothing of it is written. What models cost for the session stays known.
    """
    rows = await services_of(request).sessions.delete(scope, session_id)
    return ok(deleted_session_view(session_id, rows))
