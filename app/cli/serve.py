"""`cairn serve`: everything on one machine, from one command."""

import asyncio
import socket
from collections.abc import Coroutine, Sequence
from contextlib import closing, suppress
from typing import Annotated

import httpx
import typer
from rich.table import Table

from app.cli.api_processes import ApiProcesses
from app.cli.database import Addresses, migrate, open_database
from app.cli.stopping import leave_on_sigterm, pause_unless_stopped, stop_on_signals
from app.cli.terminal import failures_in_words, load_settings, out
from app.cli.worker import keep_worker_running
from app.embedded.home import ServeLock, open_home
from app.listener import listener_url, open_listener, require_keys_beyond_loopback
from app.observability import configure_logging
from app.settings import Settings

READY_POLL_SECONDS = 0.1


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default="1933")
    ] = None,
    api_workers: Annotated[
        int | None, typer.Option(help="Number of API processes.", show_default="2, or 1 on one core")
    ] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave the jobs to `cairn worker`.")] = False,
) -> None:
    """Start Cairn: PostgreSQL, migrations, the API and the worker.

    Without CAIRN_DATABASE_URL an embedded PostgreSQL is started; its data lies in CAIRN_HOME (~/.cairn).

    Example:  cairn serve --port 1933
    """
    with failures_in_words():
        settings = load_settings(host=host, port=port, api_workers=api_workers)
        configure_logging(settings.log_level, as_json=settings.log_json)
        leave_on_sigterm()
        home = open_home(settings.home)
        with ServeLock(home) as lock, closing(open_listener(settings.host, settings.port)) as listener:
            require_keys_beyond_loopback(settings, listener)
            lock.announce(listener_url(listener))
            with open_database(settings) as database:
                migrate(database)
                asyncio.run(_run(settings, database, listener, with_worker=not no_worker))
        out.print("Stopped.")


async def _run(settings: Settings, database: Addresses, listener: socket.socket, *, with_worker: bool) -> None:
    stop = stop_on_signals()
    with closing(ApiProcesses(listener, {"CAIRN_DATABASE_URL": database.app_url})) as processes:
        tasks = [processes.keep_running(stop) for _ in range(settings.api_workers)]
        tasks.append(_say_when_ready(settings, database, listener_url(listener), stop, with_worker=with_worker))
        if with_worker:
            tasks.append(keep_worker_running(settings, database, stop))
        await _all_or_none(tasks, stop)


async def _say_when_ready(
    settings: Settings, database: Addresses, url: str, stop: asyncio.Event, *, with_worker: bool
) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=5.0) as client:
        while not stop.is_set():
            with suppress(httpx.HTTPError):
                if (await client.get("/ready")).status_code == httpx.codes.OK:
                    break
            await pause_unless_stopped(READY_POLL_SECONDS, stop)
    if stop.is_set():
        return
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("API", url),
        ("provider", provider_shown(settings)),
        ("database", database.shown),
        ("worker", f"{settings.worker_slots} jobs at a time" if with_worker else "none here; run `cairn worker`"),
        ("stop", "Ctrl-C"),
    ):
        table.add_row(f"  [dim]{name}[/]", value)
    out.print("[bold green]Cairn is ready.[/]")
    out.print(table)


def provider_shown(settings: Settings) -> str:
    """Return which model writes the working memory, for people."""
    if settings.model_name is None:
        return "extractive: rules without a model; set CAIRN_MODEL_NAME for a real one"
    return f"{settings.model_name} at {settings.model_base_url or 'the default address of the openai package'}"


async def _all_or_none(tasks: Sequence[Coroutine[object, object, None]], stop: asyncio.Event) -> None:
    """Run all until they return; when one fails, stop the others in good order and raise its error."""
    running = [asyncio.ensure_future(task) for task in tasks]
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    stop.set()
    await asyncio.wait(running)
    for task in done:
        task.result()
