"""Log lines say who and which, never what."""

import json
import logging

import pytest
import structlog

from app.observability import MASK, configure_logging, job_context, request_context


@pytest.fixture(autouse=True)
def logging_as_it_was():
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()


def logged(capsys) -> dict:
    return json.loads(capsys.readouterr().err.strip().splitlines()[-1])


def test_lines_carry_the_request_and_the_job(capsys):
    configure_logging("info", as_json=True)
    with request_context("req-1"), job_context(7, "working_memory", 1):
        structlog.get_logger("cairn.test").info("happened", messages=3)
    line = logged(capsys)
    assert (line["request_id"], line["job_id"], line["job_kind"]) == ("req-1", 7, "working_memory")
    assert (line["event"], line["messages"], line["level"], line["logger"]) == ("happened", 3, "info", "cairn.test")


def test_libraries_log_the_same_way(capsys):
    configure_logging("info", as_json=True)
    with request_context("req-2"):
        logging.getLogger("uvicorn.error").warning("started %s", "well")
    line = logged(capsys)
    assert (line["event"], line["request_id"]) == ("started well", "req-2")


@pytest.mark.parametrize("name", ["password", "api_key", "model_api_key", "root_key", "authorization", "database_url"])
def test_values_under_secret_names_are_masked(capsys, name):
    configure_logging("info", as_json=True)
    structlog.get_logger().info("happened", **{name: "do not show"})
    assert logged(capsys)[name] == MASK


@pytest.mark.parametrize("name", ["tokens", "pending_tokens", "tokenizer", "lock_key", "order_key"])
def test_harmless_names_are_not_masked(capsys, name):
    configure_logging("info", as_json=True)
    structlog.get_logger().info("happened", **{name: "shown"})
    assert logged(capsys)[name] == "shown"


def test_passwords_inside_addresses_are_masked(capsys):
    configure_logging("info", as_json=True)
    structlog.get_logger().info("happened", where="postgresql://cairn:hidden@db:5432/cairn")
    assert logged(capsys)["where"] == f"postgresql://cairn:{MASK}@db:5432/cairn"


@pytest.mark.parametrize("as_json", [True, False])
def test_tracebacks_show_no_variables(capsys, as_json):
    configure_logging("info", as_json=as_json)
    said = "what the user wrote"
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger().exception("failed", length=len(said))
    shown = capsys.readouterr().err
    assert "broken" in shown
    assert "what the user wrote" not in shown


def test_less_than_the_level_is_not_logged(capsys):
    configure_logging("warning", as_json=True)
    structlog.get_logger().info("happened")
    assert capsys.readouterr().err == ""
