"""The services with a model behind HTTP, and what a commit came to, down to the rows."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
import pytest
from psycopg.rows import namedtuple_row

from app.bootstrap import Services
from app.domain.scope import Scope
from app.domain.tasks import Task
from app.domain.working_memory.sections import SECTIONS, Bodies
from tests.support.house import commit, house, somebody, tell, working
from tests.support.model_behaviours import ok
from tests.support.model_server import ModelServer, running_model_server
from tests.support.waiting import eventually

MODEL = "harbour-1"
SESSION = "talk"
PRIOR = dict(
    zip(
        (section.value for section in SECTIONS),
        (
            "Moving the harbour tide tables",
            "The tables are copied; next comes the check of port 5433.",
            "- Move the tide tables to PostgreSQL before 2031-05-01",
            "- Ana Pereira decided on PostgreSQL 18 on 2031-04-09\n- The pump costs €1,250 and starts at 06:30",
            "- `harbour/tides.py`: reads the tables\n- `harbour/pumps.sql`: the schedule",
            "- The first import lost 12 rows; the cause was the comma in the CSV file",
            "- Is port 5433 free?\n- Who signs the berth contract?",
        ),
        strict=True,
    )
)
"""A document that is worth keeping."""


@dataclass
class Scene:
    """One session whose model a test has in its hands."""

    services: Services
    scope: Scope
    server: ModelServer
    superuser: psycopg.Connection

    async def remember(self, *texts: str) -> None:
        """Commit once with a model that behaves, so that there is a document; forget the calls it took."""
        self.server.reset()
        self.server.script(ok(PRIOR))
        await self.commit(*(texts or ("We move the tide tables.",)))
        self.server.reset()

    async def commit(self, *texts: str) -> Task:
        """Append, seal and wait for the end. The pauses between attempts pass at once."""
        return await self.end_of(await commit(self.services, self.scope, SESSION, *texts))

    async def end_of(self, task_id: object) -> Task:
        async def look() -> Task | None:
            task = await self.services.tasks.get(self.scope, str(task_id))
            if not task.status.is_final:
                self._end_pauses()
            return task if task.status.is_final else None

        return await eventually(look, f"the end of task {task_id}")

    def _end_pauses(self) -> None:
        ended = self.superuser.execute(
            "UPDATE cairn.jobs SET run_at = now() WHERE state = 'ready' AND run_at > now() RETURNING id"
        )
        if ended.fetchall():
            self.superuser.execute("NOTIFY cairn_jobs")

    async def tell(self, *texts: str) -> None:
        await tell(self.services, self.scope, SESSION, *texts)

    async def bodies(self) -> Bodies | None:
        document = (await self.services.working_memory.current(self.scope, SESSION)).document
        return document.bodies if document else None

    async def remembered(self) -> str:
        """Return all that is kept: the document and what waits outside it."""
        current = await self.services.working_memory.current(self.scope, SESSION)
        bodies = current.document.bodies.values() if current.document else ()
        return "\n".join([*bodies, *(item.text for item in current.deferred)])

    def calls(self, archive_no: int = 2) -> list[tuple[str, str | None]]:
        """Return outcome and error class of every question about an archive, in their order."""
        rows = self.superuser.execute(
            "SELECT outcome, error_class FROM cairn.model_calls WHERE archive_no = %s ORDER BY id", [archive_no]
        )
        return [tuple(row) for row in rows.fetchall()]

    def answers(self, archive_no: int = 2) -> list[Any]:
        return self.superuser.execute(
            "SELECT * FROM cairn.model_answers WHERE archive_no = %s ORDER BY id", [archive_no]
        ).fetchall()

    def job(self, archive_no: int = 2) -> Any:
        return self.superuser.execute("SELECT * FROM cairn.jobs WHERE archive_no = %s", [archive_no]).fetchone()


@asynccontextmanager
async def scene(
    database_url: str, server: ModelServer, superuser: psycopg.Connection, **settings: Any
) -> AsyncIterator[Scene]:
    """Open services that ask the model server, and a worker; two attempts per job unless settings say otherwise."""
    given = {
        "model_base_url": server.base_url,
        "model_name": MODEL,
        "model_timeout_seconds": 5.0,
        "max_attempts": 2,
        "pool_size": 4,
        **settings,
    }
    async with house(database_url, **given) as services:
        scope = await somebody(services)
        async with working(services):
            yield Scene(services, scope, server, superuser)


OpenScene: TypeAlias = Callable[..., AbstractAsyncContextManager[Scene]]


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    """A fake model service."""
    with running_model_server() as server:
        yield server


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection]:
    """A connection that no policy holds, for looking and for letting time pass."""
    with psycopg.connect(superuser_url, autocommit=True, row_factory=namedtuple_row) as connection:
        yield connection


@pytest.fixture
def open_scene(database_url: str, model_server: ModelServer, superuser: psycopg.Connection) -> OpenScene:
    """Open services and a worker; the model service has forgotten script and calls."""
    model_server.reset()

    def open_one(**settings: Any) -> AbstractAsyncContextManager[Scene]:
        return scene(database_url, model_server, superuser, **settings)

    return open_one
