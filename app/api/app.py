"""The HTTP application: routes, errors and the layers around them, for services that somebody else built and closes."""

from collections.abc import Iterable
from typing import Final

from fastapi import APIRouter, FastAPI

from app.api import errors
from app.api.body import DEFAULT_LIMITS, BodyLimits
from app.api.metrics import Metrics
from app.api.middleware import HostGuard, RequestFrame, TextGuard
from app.api.openapi import describe
from app.api.routes import (
    admin,
    archives,
    commits,
    context,
    messages,
    sessions,
    system,
    tasks,
    tool_results,
    transfers,
    unserved,
    working_memory,
)
from app.bootstrap import Services

_ROUTERS: Final = (
    messages.router,  # first: routes are tried in this order, and these are asked most
    commits.router,
    context.router,
    working_memory.router,
    archives.router,
    tool_results.router,
    transfers.router,
    sessions.router,
    tasks.router,
    admin.router,
    system.router,
    unserved.router,
)


def create_app(
    services: Services,
    *,
    version: str,
    allowed_hosts: Iterable[str] = (),
    limits: BodyLimits = DEFAULT_LIMITS,
    more_routers: Iterable[APIRouter] = (),
) -> FastAPI:
    """Return the application over open services.

    version: Cairn's own, shown by /health. limits: how large what is sent may be. allowed_hosts: names under which it
    may be called beside loopback; empty allows any, except without keys. more_routers: other doorways of the same
    port, such as the console.
    """
    app = FastAPI(
        title="Cairn",
        version=version,
        description="The memory of AI agents, kept in PostgreSQL.",
        docs_url=None,  # both pages load their scripts from elsewhere; the console has one that does not
        redoc_url=None,
    )
    app.state.services = services
    app.state.limits = limits
    app.state.metrics = Metrics()
    for router in (*_ROUTERS, *more_routers):
        app.include_router(router)
    errors.install(app)
    app.add_middleware(TextGuard)
    hosts, keyless = tuple(allowed_hosts), services.auth_mode == "dev"
    if hosts or keyless:
        app.add_middleware(HostGuard, allowed_hosts=hosts, keyless=keyless)
    app.add_middleware(RequestFrame, metrics=app.state.metrics)
    app.openapi = describe(app)  # type: ignore[method-assign]
    return app
