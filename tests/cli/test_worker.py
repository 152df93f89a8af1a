"""`cairn worker` needs no server beside it."""

import pytest

from app.cli.database import open_database
from app.settings import Settings
from app.storage.migrations import current, head
from tests.support.processes import python, running, wait_for

pytestmark = pytest.mark.faults


def test_a_worker_that_is_the_first_on_a_home_makes_what_it_works_on(tmp_path):
    said = tmp_path / "errors"
    with (
        said.open("w") as errors,
        running(*python("app.cli", "worker"), stderr=errors, env={"CAIRN_HOME": str(tmp_path / "home")}) as worker,
    ):
        wait_for(lambda: "worker_started" in said.read_text(), "the start of the worker", 60)
        worker.terminate()
        assert worker.wait(60) == 0
    assert "queue_refused" not in said.read_text()
    with open_database(Settings(home=tmp_path / "home")) as database:
        assert current(database.owner_url) == head()
