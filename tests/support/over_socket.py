"""The application behind a real socket in this process: for answers that are read while they are still being made."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from app.api.app import create_app
from app.bootstrap import Services
from app.main import Server
from tests.support.api import VERSION

PATIENCE_SECONDS = 20


@dataclass(frozen=True)
class OverSocket:
    """A client, and the server that it talks to."""

    client: httpx.AsyncClient
    server: uvicorn.Server
    running: asyncio.Task[None]


@asynccontextmanager
async def over_socket(services: Services) -> AsyncIterator[OverSocket]:
    """Serve on a free port of loopback for as long as the block is open."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(services, version=VERSION), log_config=None, timeout_graceful_shutdown=10)
    server = Server(config, before_shutdown=services.tasks.release)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            yield OverSocket(client, server, running)
    finally:
        server.should_exit = True
        await running


@dataclass(frozen=True)
class Event:
    """One server-sent event; name is '' for a comment or a mere setting."""

    name: str
    id: str
    data: Any


async def events(reply: httpx.Response) -> AsyncIterator[Event]:
    """Yield the events of a stream as they come in."""
    fields: dict[str, str] = {}
    async for line in reply.aiter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
            continue
        yield Event(fields.get("event", ""), fields.get("id", ""), json.loads(fields.get("data", "null")))
        fields = {}
