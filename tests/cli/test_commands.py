"""The command line explains itself, and fails in words."""

from importlib.metadata import version

import pytest

COMMANDS = ("serve", "worker", "migrate", "doctor", "demo", "import", "wm merge", "wm recover", "wm parse")


def test_help_lists_every_command(cairn):
    shown = cairn("--help")
    assert shown.exit_code == 0
    for command in COMMANDS:
        assert f" {command.split()[0]} " in shown.output


def test_the_version_is_the_one_that_is_installed(cairn):
    shown = cairn("--version")
    assert (shown.exit_code, shown.output) == (0, f"cairn {version('cairn-memory-server')}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(cairn, command):
    shown = cairn(*command.split(), "--help")
    assert shown.exit_code == 0
    assert "Example:" in shown.output
    assert f"cairn {command}" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"port": "70000"}, "CAIRN_PORT"),
        ({"auth_mode": "open"}, "CAIRN_AUTH_MODE"),
        ({"worker_slots": "many"}, "CAIRN_WORKER_SLOTS"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(cairn, settings, named):
    refused = cairn("migrate", **settings)
    assert refused.exit_code == 1
    assert named in refused.stderr


def test_a_wrong_key_is_never_shown(cairn):
    refused = cairn("migrate", port="70000", root_key="do-not-show", model_api_key="nor-this")
    assert "do-not-show" not in refused.output + refused.stderr
    assert "nor-this" not in refused.output + refused.stderr


def test_a_database_that_is_not_there_is_said_in_one_line(cairn):
    refused = cairn("migrate", database_url="postgresql://nobody:not-this@127.0.0.1:1/none")
    assert refused.exit_code == 1
    [line] = refused.stderr.splitlines()
    for part in ("The database cannot be reached", '"127.0.0.1", port 1 failed', "refused"):
        assert part in line
    assert "not-this" not in line
    assert "Traceback" not in refused.stderr


def test_each_of_several_addresses_of_a_database_is_named(cairn):
    refused = cairn("migrate", database_url="postgresql://nobody@127.0.0.1:1,127.0.0.1:2/none")
    assert "port 1 failed" in refused.stderr
    assert "port 2 failed" in refused.stderr


@pytest.mark.parametrize("command", [("demo",), ("import", __file__)])
def test_a_server_that_is_not_there_is_named(cairn, command, tmp_path):
    refused = cairn(*command, "--url", "http://127.0.0.1:1")
    assert refused.exit_code == 1
    assert "cairn:" in refused.stderr
