"""Just enough HTTP for the fake model service: it must also be able to break the rules in the middle of an answer."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

_DRIPS = 20


@dataclass(frozen=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What goes back, and how: after a wait, slowly, cut short, or not at all."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0
    drip_seconds: float = 0.0
    sent_share: float = 1.0

    @classmethod
    def json(cls, status: int, value: Any, headers: Mapping[str, str] | None = None, **how: float) -> "Reply":
        # ASCII escapes let lone surrogates through, as real services do.
        return cls(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})}, **how)


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Return the next request of a connection, None when it was closed instead."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not first:
        return None
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return HttpRequest(method, path, headers, body)


async def write_reply(writer: asyncio.StreamWriter, reply: Reply, stopping: asyncio.Event) -> bool:
    """Send a reply as it wants to be sent; return whether the connection can be used again."""
    if reply.wait_seconds:
        await _wait(reply.wait_seconds, stopping)
    if reply.sent_share == 0:
        writer.transport.abort()
        return False
    headers = {"Content-Length": str(len(reply.body)), **reply.headers}
    lines = [
        f"HTTP/1.1 {reply.status} {_phrase(reply.status)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    body = reply.body[: int(len(reply.body) * reply.sent_share)]
    steps = _DRIPS if reply.drip_seconds else 1
    size = max(1, -(-len(body) // steps))
    for start in range(0, len(body), size):
        writer.write(body[start : start + size])
        await writer.drain()
        if reply.drip_seconds:
            await _wait(reply.drip_seconds / steps, stopping)
    await writer.drain()
    return reply.sent_share == 1.0


async def _wait(seconds: float, stopping: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), seconds)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
