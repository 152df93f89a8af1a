"""The services on a test database, and a worker that runs for as long as a block is open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from app.bootstrap import Services, build
from app.domain.archives import Sealed
from app.domain.commits import keeping
from app.domain.scope import Scope
from app.domain.tasks import Task
from app.providers.guarded import GuardedModel
from app.providers.ports import ChatModel
from app.settings import Settings
from app.storage.transaction import transaction_open
from app.worker.loop import Worker
from tests.support.conversations import said
from tests.support.waiting import eventually


@asynccontextmanager
async def house(database_url: str, model: ChatModel | None = None, **settings: Any) -> AsyncIterator[Services]:
    """Build the services as a process would. A model that is given is guarded like a real one."""
    guarded = GuardedModel(model, transaction_open) if model else None
    async with build(Settings(**settings), database_url=database_url, model=guarded) as services:
        yield services


async def somebody(services: Services, account: str = "acme", user: str = "ann") -> Scope:
    """Return the scope of a user, who is made where there is none."""
    scope = await services.identity.by_names(account, user, create=True)
    assert scope is not None
    return scope


@asynccontextmanager
async def working(services: Services, name: str = "worker") -> AsyncIterator[Worker]:
    """Run a worker in this process; when the block ends it finishes what it has in hand."""
    stop = asyncio.Event()
    worker = Worker(services, name)
    running = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        async with asyncio.timeout(30):
            await running


async def ended(services: Services, scope: Scope, task_id: object) -> Task:
    """Wait until a task has ended, and return it."""

    async def look() -> Task | None:
        task = await services.tasks.get(scope, str(task_id))
        return task if task.status.is_final else None

    return await eventually(look, f"the end of task {task_id}")


async def tell(services: Services, scope: Scope, session: str, *texts: str) -> None:
    """Append one message of a person per text."""
    await services.messages.append(scope, session, [said(text) for text in texts])


async def commit(services: Services, scope: Scope, session: str, *texts: str, keep: int = 0) -> UUID:
    """Append messages, seal the session, and return the id of the task."""
    if texts:
        await tell(services, scope, session, *texts)
    sealed = await services.commits.seal(scope, session, keeping(keep))
    assert isinstance(sealed, Sealed)
    return sealed.task_id
