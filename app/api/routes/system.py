"""What the server is and how it is: for clients, for load balancers, for Prometheus."""

from typing import Any, Final

import orjson
from fastapi import APIRouter, Request, Response
from typing_extensions import TypedDict

from app.api.auth import AnyCaller, OptionalCaller, services_of
from app.api.envelope import JSON, answers, ok
from app.api.metrics import CONTENT_TYPE, Metrics
from app.domain.errors import Unavailable

COMPATIBLE_VERSION: Final = "0.5.0"
"""The release of the API that clients check for."""

router: Final = APIRouter(tags=["system"])


class SystemAdditions(TypedDict):
    version: str
    provider: str
    auth_mode: str


class SystemStatusView(TypedDict):
    initialized: bool
    user: str
    cairn: SystemAdditions


@router.get("/api/v1/system/status", responses=answers(SystemStatusView), summary="Who am I?")
async def system_status(request: Request, caller: AnyCaller) -> Response:
    """Return the caller's user name as it stands in addresses."""
    services = services_of(request)
    view: SystemStatusView = {
        "initialized": True,
        "user": caller.user_name,
        "cairn": {
            "version": request.app.version,
            "provider": services.provider,
            "auth_mode": services.auth_mode,
        },
    }
    return ok(view)


@router.head("/health", include_in_schema=False)
@router.get("/health", summary="Does the process live?")
async def health(request: Request, caller: OptionalCaller) -> Response:
    """Answer without looking at anything; with a valid key, say whose it is. Never asks for a key."""
    services = services_of(request)
    body: dict[str, Any] = {
        "status": "ok",
        "healthy": True,
        "version": COMPATIBLE_VERSION,
        "cairn_version": request.app.version,
        "auth_mode": services.auth_mode,
    }
    if caller is not None:
        if caller.scope is not None:
            body |= {"account_id": caller.scope.account_name, "user_id": caller.scope.user_name}
        body["role"] = caller.role.value
    return _plain(body)


@router.head("/ready", include_in_schema=False)
@router.get("/ready", summary="May traffic come?")
async def ready(request: Request) -> Response:
    """Answer 200 when everything a request needs is there, else 503; `checks` names what is at fault."""
    readiness = await services_of(request).health.ready()
    body = {"status": "ready" if readiness.ok else "not_ready", "ready": readiness.ok, "checks": readiness.checks}
    return _plain(body, 200 if readiness.ok else 503)


@router.get("/metrics", summary="Counters for Prometheus", response_class=Response)
async def metrics(request: Request) -> Response:
    """Return requests by route and status, how long they took, and the length of the queue."""
    counted: Metrics = request.app.state.metrics
    try:
        jobs = await services_of(request).jobs.count()
    except Unavailable:
        jobs = None
    return Response(counted.exposition(jobs), media_type=CONTENT_TYPE)


def _plain(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type=JSON)
