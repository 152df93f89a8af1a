"""One judgement per fact."""

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from app.cli.checks import app_login, connections, extensions, provider, recounts, text_rules, version
from app.settings import Settings
from app.storage.inspection import Fault, ServerFacts

SOUND = ServerFacts(
    major=18,
    version="18.6",
    ctype="C.UTF-8",
    encoding="UTF8",
    usable_connections=97,
    login="cairn_api",
    sees_everything=False,
    roles=frozenset({"cairn_app"}),
    extensions={"vector": "0.8", "pg_trgm": "1.6", "pg_stat_statements": "1.12"},
)


@pytest.mark.parametrize(("major", "verdict"), [(14, "fail"), (15, "ok"), (18, "ok")])
def test_fifteen_is_the_oldest_version(major, verdict):
    assert version(replace(SOUND, major=major)).verdict == verdict


@pytest.mark.parametrize(
    ("encoding", "ctype", "verdict"),
    [
        ("UTF8", "C.UTF-8", "ok"),
        ("UTF8", "en_US.UTF-8", "ok"),
        ("UTF8", "C", "warn"),
        ("UTF8", "POSIX", "warn"),
        ("SQL_ASCII", "C", "fail"),
    ],
)
def test_text_needs_unicode_and_real_letters(encoding, ctype, verdict):
    assert text_rules(replace(SOUND, encoding=encoding, ctype=ctype)).verdict == verdict


def test_missing_extensions_are_warnings_because_all_are_optional():
    found = extensions(replace(SOUND, extensions={"pg_trgm": "1.6"}))
    assert [(finding.subject, finding.verdict) for finding in found] == [
        ("extension vector", "warn"),
        ("extension pg_trgm", "ok"),
        ("extension pg_stat_statements", "warn"),
    ]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (SOUND, "ok"),
        (replace(SOUND, sees_everything=True), "warn"),
        (replace(SOUND, roles=frozenset()), "fail"),
    ],
)
def test_the_login_of_the_app_must_be_bound(facts, verdict):
    assert app_login(facts).verdict == verdict


@pytest.mark.parametrize(("usable", "verdict"), [(63, "ok"), (62, "fail")])
def test_the_sum_of_connections_must_fit(usable, verdict):
    settings = Settings(api_workers=2, pool_size=10)
    assert connections(settings, replace(SOUND, usable_connections=usable)).verdict == verdict


@pytest.mark.parametrize(
    "settings", [{}, {"model_name": "m"}], ids=["rules", "a model at the default address is not asked"]
)
def test_a_provider_that_needs_no_question_is_fine(settings):
    assert provider(Settings(**settings)).verdict == "ok"


@pytest.fixture
def model_service():
    """A service whose answer to every GET has the status in the path: http://…/404/models."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(int(self.path.split("/")[1]))
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "verdict"), [(200, "ok"), (401, "fail"), (403, "fail"), (404, "warn"), (500, "warn")]
)
def test_a_model_service_is_judged_by_its_answer(model_service, status, verdict):
    settings = Settings(model_name="m", model_base_url=f"{model_service}/{status}", model_api_key="hidden")
    found = provider(settings)
    assert found.verdict == verdict
    assert "hidden" not in found.found + found.advice


def test_every_fault_of_a_recount_is_one_finding():
    assert [finding.verdict for finding in recounts([])] == ["ok"]
    assert [finding.verdict for finding in recounts([Fault(1, 2, "a"), Fault(1, 3, "b")])] == ["fail", "fail"]


def test_whatever_is_not_fine_says_what_to_do():
    bad = replace(SOUND, major=14, ctype="C", sees_everything=True, extensions={}, usable_connections=1)
    found = [
        version(bad),
        text_rules(bad),
        *extensions(bad),
        app_login(bad),
        connections(Settings(), bad),
    ]
    assert all(finding.verdict != "ok" and finding.advice for finding in found)
