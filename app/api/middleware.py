"""Around every request: its id, its time, its log line and metrics, and who may call a server without keys."""

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.envelope import failure
from app.api.errors import answer_bug
from app.api.metrics import Metrics
from app.observability import request_context

log = structlog.get_logger(__name__)

SLOW_SECONDS: Final = 1.0
CLIENT_GONE: Final = 499
_VALID_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestFrame:
    """The outermost layer: whatever happens inside, the client gets an answer with an id that the log knows."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _request_id(scope)
        state = scope.setdefault("state", {})
        state["request_id"], state["started"] = request_id, started
        status = 0

        async def send_framed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    (b"x-process-time", b"%.6f" % (time.perf_counter() - started)),
                ]
            await send(message)

        with request_context(request_id):
            try:
                await self._app(scope, receive, send_framed)
            except ClientDisconnect:
                status = CLIENT_GONE
            except Exception as error:  # the last resort: a bug is answered and logged here, and nowhere else
                answer = answer_bug(error)
                if status == 0:
                    await answer(scope, receive, send_framed)
            self._finish(scope, status, time.perf_counter() - started)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        template: str = route.path if route is not None else "unmatched"
        self._metrics.observe(template, scope["method"], status, seconds)
        if status >= 400 or seconds > SLOW_SECONDS:
            log.info("request", method=scope["method"], route=template, status=status, seconds=round(seconds, 4))


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return str(value, "ascii") if _VALID_ID.fullmatch(value) else str(uuid4())
    return str(uuid4())


class HostGuard:
    """Refuses requests under foreign names, and writes from foreign web pages where no key is needed.

    A page in a browser on this machine can reach a server on loopback: under a name of its own that it points there,
    or by a form. Both are harmless where every request needs a key, and are refused where none does.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str], *, keyless: bool) -> None:
        self._app = app
        self._allowed = _LOOPBACK_NAMES | {host.strip().lower() for host in allowed_hosts}
        self._keyless = keyless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        complaint = self._complaint(scope) if scope["type"] == "http" else None
        if complaint is None:
            await self._app(scope, receive, send)
        else:
            await failure(403, "PERMISSION_DENIED", complaint)(scope, receive, send)

    def _complaint(self, scope: Scope) -> str | None:
        for name, value in scope["headers"]:
            if name == b"host" and _host_name(value) not in self._allowed:
                return "This server is not known under that Host; CAIRN_ALLOWED_HOSTS lists the names it answers to."
            if name == b"sec-fetch-site" and value == b"cross-site" and self._is_write(scope):
                return "Another web page must not write here while the server needs no key."
        return None

    def _is_write(self, scope: Scope) -> bool:
        return self._keyless and scope["method"] not in _READING


class TextGuard:
    """Refuses an address whose path or parameters are no text: broken UTF-8, half a surrogate pair, or NUL.

    Decoded leniently, two broken names would become one; and PostgreSQL stores no NUL.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"%" in scope.get("raw_path", b"") or scope["query_string"]):
            places = list(_no_text(scope))
            if places:
                faults = "; ".join(f"{place}: must be UTF-8 text without NUL" for place in places)
                message = f"Invalid request parameters: {faults}"
                await failure(400, "INVALID_ARGUMENT", message, {"fields": places})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _no_text(scope: Scope) -> Iterator[str]:
    """Yield the places in an address that cannot be stored: `path`, or `query.NAME`."""
    if not _is_text(scope.get("raw_path", b"")):
        yield "path"
    for pair in scope["query_string"].split(b"&"):
        if not _is_text(pair.replace(b"+", b" ")):
            name = unquote_to_bytes(pair.partition(b"=")[0]).decode("utf-8", "replace").replace("\x00", "\ufffd")
            yield f"query.{name[:100]}"


def _is_text(quoted: bytes) -> bool:
    raw = unquote_to_bytes(quoted)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in raw


def _host_name(value: bytes) -> str:
    host = value.decode("latin-1").lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
