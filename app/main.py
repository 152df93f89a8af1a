"""One API process: `python -m app.main`.

`cairn serve` starts several and hands each the socket that it listens on and a pipe that closes when `serve` ends. Run
by itself (in a container, say) it opens its own socket and needs CAIRN_DATABASE_URL.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import structlog
import uvicorn

from app.api.app import create_app
from app.api.body import BodyLimits
from app.bootstrap import build
from app.console import pages
from app.domain.errors import AppError, InvalidInput, Unavailable
from app.listener import open_listener, require_keys_beyond_loopback
from app.observability import configure_logging
from app.settings import Settings

DISTRIBUTION: Final = "cairn-memory-server"
DRAIN_SECONDS: Final = 10
log = structlog.get_logger(__name__)


def main(arguments: list[str] | None = None) -> None:
    """Serve the API until a signal comes or the parent is gone. Exits with a line on standard error when it cannot.

    The exit code is EX_TEMPFAIL where the same start may succeed later (the database does not answer), 1 otherwise.
    """
    parser = argparse.ArgumentParser(prog="python -m app.main", description="Run one API process of Cairn.")
    parser.add_argument("--listener-fd", type=int, help="descriptor of a listening socket handed down by the parent")
    parser.add_argument("--parent-fd", type=int, help="descriptor of a pipe that ends when the parent ends")
    options = parser.parse_args(arguments)
    settings = Settings()
    configure_logging(settings.log_level, as_json=settings.log_json)
    asked_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises a signal again when it is done; it must not cut off what is closed after it.
        signal.signal(number, lambda *_: asked_to_end.set())
    try:
        listener = _listener(settings, options.listener_fd)
        with (
            listener,
            asyncio.Runner(loop_factory=uvicorn.Config(app="", log_config=None).get_loop_factory()) as runner,
        ):
            runner.run(serve(settings, listener, options.parent_fd, asked_to_end))
    except Unavailable as error:
        sys.stderr.write(f"cairn: {error.message}\n")
        sys.exit(os.EX_TEMPFAIL)
    except AppError as error:
        sys.exit(f"cairn: {error.message}")


async def serve(
    settings: Settings, listener: socket.socket, parent_fd: int | None, asked_to_end: threading.Event
) -> None:
    """Answer requests on a listening socket; returns when the open ones are answered after a signal."""
    if settings.database_url is None:
        raise InvalidInput("An API process needs CAIRN_DATABASE_URL; `cairn serve` brings its own database.")
    async with build(settings, database_url=settings.database_url.get_secret_value()) as services:
        config = uvicorn.Config(
            create_app(
                services,
                version=version(DISTRIBUTION),
                limits=_limits(settings),
                allowed_hosts=[name.strip() for name in settings.allowed_hosts.split(",") if name.strip()],
                more_routers=[pages.router],
            ),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        server = Server(config, before_shutdown=services.tasks.release)
        server.should_exit = asked_to_end.is_set()
        if parent_fd is not None:
            _end_with_parent(server, parent_fd)
        await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    """A server that tells those who wait for something that it goes, before it waits for them."""

    def __init__(self, config: uvicorn.Config, before_shutdown: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_shutdown = before_shutdown

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._before_shutdown()
        await super().shutdown(sockets)


def _limits(settings: Settings) -> BodyLimits:
    return BodyLimits(settings.max_body_bytes, settings.max_message_bytes, settings.max_import_bytes)


def _listener(settings: Settings, descriptor: int | None) -> socket.socket:
    listener = (
        socket.socket(fileno=descriptor) if descriptor is not None else open_listener(settings.host, settings.port)
    )
    require_keys_beyond_loopback(settings, listener)
    return listener


def _end_with_parent(server: uvicorn.Server, parent_fd: int) -> None:
    """Stop the server when the pipe ends, which it does however the parent died."""
    loop = asyncio.get_running_loop()

    def parent_is_gone() -> None:
        if os.read(parent_fd, 1) == b"":
            loop.remove_reader(parent_fd)
            log.info("parent_is_gone")
            server.should_exit = True

    loop.add_reader(parent_fd, parent_is_gone)


if __name__ == "__main__":
    main()
