"""kill -9 in the middle of a job: another process takes it over, and nothing is done twice."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from tests.support.house import commit, ended
from tests.support.job_rows import job
from tests.support.model_behaviours import hang
from tests.support.model_server import ModelServer, running_model_server
from tests.support.processes import kill, python, running
from tests.support.waiting import eventually

pytestmark = pytest.mark.faults


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


def worker_process(database_url: str, server: ModelServer) -> AbstractContextManager[subprocess.Popen]:
    environment = {
        "CAIRN_DATABASE_URL": database_url,
        "CAIRN_MODEL_BASE_URL": server.base_url,
        "CAIRN_MODEL_NAME": "harbour-1",
        "CAIRN_LEASE_SECONDS": "1",
        "CAIRN_LOG_LEVEL": "error",
    }
    return running(*python("app.cli", "worker"), env=environment)


async def test_a_worker_that_is_killed_while_the_model_thinks_is_replaced(
    services: Services, scope: Scope, superuser: psycopg.Connection, database_url: str, model_server: ModelServer,
    repetition: int,
) -> None:  # fmt: skip
    model_server.script(hang(60))
    task_id = await commit(services, scope, "talk", "We move the tide tables.")

    async def asked() -> bool:
        return bool(model_server.calls)

    with worker_process(database_url, model_server) as first:
        await eventually(asked, "a question to the model", 60)
        kill(first.pid)
        first.wait(10)
    model_server.reset()
    with worker_process(database_url, model_server):
        task = await ended(services, scope, str(task_id))
    assert (task.status, job(superuser).attempts) == (TaskStatus.COMPLETED, 2)
    assert superuser.execute("SELECT count(*) FROM cairn.working_memory_sections").fetchone() == (7,)
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []
