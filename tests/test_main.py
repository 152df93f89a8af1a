"""One API process, as `serve` or a container starts it."""

import os
import signal
import socket
import subprocess

import httpx
import pytest

from tests.support.processes import python, running, wait_for


def test_without_a_database_it_says_what_it_needs():
    done = subprocess.run(python("app.main"), capture_output=True, text=True, env={**os.environ, "CAIRN_PORT": "0"})
    assert done.returncode == 1
    assert "CAIRN_DATABASE_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_that_does_not_answer_has_an_exit_code_of_its_own():
    environment = {**os.environ, "CAIRN_PORT": "0", "CAIRN_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = subprocess.run(python("app.main"), capture_output=True, text=True, env=environment)
    assert done.returncode == os.EX_TEMPFAIL
    assert "cairn: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", ["the parent's pipe ends", "SIGTERM"])
def test_it_serves_on_the_socket_it_was_given_until_it_should_end(database_url, ending):
    reader, writer = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = (*python("app.main"), "--listener-fd", str(listener.fileno()), "--parent-fd", str(reader))
        environment = {"CAIRN_DATABASE_URL": database_url, "CAIRN_POOL_SIZE": "2"}
        with running(*command, env=environment, pass_fds=(listener.fileno(), reader)) as process:
            os.close(reader)
            assert wait_for(lambda: httpx.get(f"{url}/ready", timeout=60).status_code == 200, "a ready process")
            if ending == "SIGTERM":
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
                os.close(writer)
            else:
                os.close(writer)
                assert process.wait(30) == 0
