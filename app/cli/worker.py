"""`cairn worker`: run jobs, beside a server or on a machine of its own."""

import asyncio
from typing import Annotated

import structlog
import typer

from app.bootstrap import build
from app.cli.database import Addresses, migrate, open_database
from app.cli.stopping import leave_on_sigterm, pause_unless_stopped, stop_on_signals
from app.cli.terminal import failures_in_words, load_settings, out
from app.domain.errors import Unavailable
from app.observability import configure_logging
from app.settings import Settings
from app.worker.loop import Worker

PAUSE_SECONDS = 1.0

log = structlog.get_logger(__name__)


def worker(
    slots: Annotated[int | None, typer.Option(help="Jobs to run at a time.", show_default="4")] = None,
) -> None:
    """Run the jobs that commits leave behind: working memory and upkeep.

    Any number of workers on any number of machines share the queue. Without CAIRN_DATABASE_URL it attaches to the
    embedded PostgreSQL of the running server; where no server runs, it starts that PostgreSQL itself, with its
    tables, and ends it with itself.

    Example:  CAIRN_DATABASE_URL=postgresql://cairn_api:…@db/cairn cairn worker --slots 8
    """
    with failures_in_words():
        settings = load_settings(worker_slots=slots)
        configure_logging(settings.log_level, as_json=settings.log_json)
        leave_on_sigterm()
        with open_database(settings) as database:
            if database.embedded:  # this process may be the first that ever ran it
                migrate(database)
            out.print(f"Working on the jobs of {database.shown}, {settings.worker_slots} at a time. Ctrl-C stops.")
            asyncio.run(_run(settings, database))
        out.print("Stopped.")


async def keep_worker_running(settings: Settings, database: Addresses, stop: asyncio.Event) -> None:
    """Run the jobs until `stop` is set; an unreachable database is waited for."""
    while not stop.is_set():
        try:
            async with build(settings, database_url=database.app_url) as services:
                await Worker(services).run(stop)
        except Unavailable as error:
            log.warning("worker_starts_again", reason=error.message)
            await pause_unless_stopped(PAUSE_SECONDS, stop)


async def _run(settings: Settings, database: Addresses) -> None:
    await keep_worker_running(settings, database, stop_on_signals())
