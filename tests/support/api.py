"""A client that talks to the application in this process: everything real but the socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from app.api.app import create_app
from app.bootstrap import Services
from app.console import pages
from tests.support.house import house

ROOT_KEY = "root-key-of-the-tests"
VERSION = "1.2.3"
HOME = "http://127.0.0.1:1933"


@asynccontextmanager
async def calling(services: Services, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of an application over these services; options go to create_app."""
    app = create_app(services, version=VERSION, more_routers=[pages.router], **options)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=HOME) as client:
        yield client


@asynccontextmanager
async def serving_mode(database_url: str, mode: str) -> AsyncIterator[tuple[Services, httpx.AsyncClient]]:
    """Yield services and client in one of the three modes of authentication."""
    settings = {"auth_mode": mode} if mode == "dev" else {"auth_mode": mode, "root_key": ROOT_KEY}
    async with house(database_url, **settings) as services, calling(services) as client:
        yield services, client


def result(reply: httpx.Response) -> Any:
    """Return what is inside the envelope of a reply that must be good."""
    assert reply.status_code == 200, reply.text
    return reply.json()["result"]


def refusal(reply: httpx.Response) -> tuple[int, str, str]:
    """Return status, code and message of a reply that must be a refusal in its envelope."""
    body = reply.json()
    assert body["status"] == "error", body
    assert set(body["error"]) == {"code", "message", "details"}
    return reply.status_code, body["error"]["code"], body["error"]["message"]


def faults(reply: httpx.Response) -> list[str]:
    """Return the places that a 400 names, dotted."""
    status, code, message = refusal(reply)
    assert (status, code) == (400, "INVALID_ARGUMENT")
    assert message.startswith("Invalid request parameters: ")
    return [".".join(map(str, fault["loc"])) for fault in reply.json()["error"]["details"]["validation_errors"]]
