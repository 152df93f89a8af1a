"""Requests whose answers are lost: the client hangs up when the answer comes, before it has read any of it."""

import json
import select
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit


def send_and_hang_up(url: str, body: object, headers: Mapping[str, str] | None = None) -> None:
    """POST a body, and close the connection as soon as there is an answer, without reading a byte of it."""
    address, raw = urlsplit(url), json.dumps(body).encode()
    lines = [
        f"POST {address.path} HTTP/1.1",
        f"Host: {address.netloc}",
        "Content-Type: application/json",
        f"Content-Length: {len(raw)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    with socket.create_connection((address.hostname or "", address.port or 80), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + raw)
        answered, _, _ = select.select([connection], [], [], 30)
        assert answered, "the server gave no answer"
