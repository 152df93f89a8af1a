"""Liveness, readiness, metrics, and the frame around every request."""

import re
from uuid import UUID

import httpx
import pytest
import structlog
from structlog.testing import capture_logs

from app.api.app import create_app
from app.api.body import BodyLimits
from app.domain.errors import Unavailable
from app.services.health import Readiness
from tests.support.api import HOME, ROOT_KEY, VERSION, calling, faults, refusal, result

MESSAGE = {"role": "user", "content": "Hello"}


async def test_health_is_plain_and_asks_for_no_key(keyed):
    reply = await keyed.get("/health")
    assert reply.status_code == 200
    assert reply.json() == {
        "status": "ok",
        "healthy": True,
        "version": "0.5.0",
        "cairn_version": VERSION,
        "auth_mode": "api_key",
    }


async def test_health_says_whose_a_valid_key_is_and_minds_no_bad_one(keyed):
    root = {"X-API-Key": ROOT_KEY}
    body = {"account_id": "acme", "admin_user_id": "adam"}
    key = result(await keyed.post("/api/v1/admin/accounts", json=body, headers=root))["user_key"]
    known = (await keyed.get("/health", headers={"Authorization": f"Bearer {key}"})).json()
    assert (known["account_id"], known["user_id"], known["role"]) == ("acme", "adam", "admin")
    assert (await keyed.get("/health", headers=root)).json()["role"] == "root"
    bad = await keyed.get("/health", headers={"X-API-Key": "bad"})
    assert (bad.status_code, "role" in bad.json()) == (200, False)


async def test_health_does_not_wait_for_the_database(services):
    await services.database.close()
    async with calling(services) as client:
        reply = await client.get("/health")
    assert (reply.status_code, reply.json()["status"]) == (200, "ok")


async def test_ready_answers_when_all_is_there(client):
    reply = await client.get("/ready")
    assert reply.status_code == 200
    assert reply.json() == {"status": "ready", "ready": True, "checks": {"database": "ok", "migrations": "ok"}}


async def test_ready_names_what_is_at_fault(services, client, monkeypatch):
    async def not_ready():
        return Readiness(False, {"database": "ok", "migrations": "at nothing"})

    monkeypatch.setattr(services.health, "ready", not_ready)
    reply = await client.get("/ready")
    assert (reply.status_code, reply.json()["checks"]["migrations"]) == (503, "at nothing")


async def test_status_names_the_user_as_addresses_do(client):
    status = result(await client.get("/api/v1/system/status"))
    assert (status["initialized"], status["user"]) == (True, "default")
    assert status["cairn"] == {"version": VERSION, "provider": "extractive", "auth_mode": "dev"}
    session = result(await client.post("/api/v1/sessions", json={"session_id": "a"}))
    assert session["uri"] == f"viking://user/{status['user']}/sessions/a"


async def test_metrics_count_requests_by_route_and_jobs_by_state(client):
    for name in ("a", "b"):
        result(await client.post(f"/api/v1/sessions/{name}/messages", json=MESSAGE))
    result(await client.post("/api/v1/sessions/a/commit", json={}))
    await client.get("/no/such/route/of-ours")
    reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert (
        'cairn_http_requests_total{method="POST",route="/api/v1/sessions/{session_id}/messages",status="200"} 2.0'
        in reply.text
    )
    assert 'cairn_http_requests_total{method="GET",route="unmatched",status="404"} 1.0' in reply.text
    assert re.search(r'cairn_http_request_seconds_count\{method="POST",route="[^"]+/messages"\} 2\.0', reply.text)
    assert "cairn_database_up 1.0" in reply.text
    assert re.search(r'cairn_jobs\{kind="working_memory",state="\w+"\} 1\.0', reply.text)
    assert "of-ours" not in reply.text


async def test_metrics_come_without_a_database_too(services, client, monkeypatch):
    async def gone():
        raise Unavailable("The database cannot be reached.")

    monkeypatch.setattr(type(services.jobs), "count", lambda self: gone())
    reply = await client.get("/metrics")
    assert reply.status_code == 200
    assert "cairn_database_up 0.0" in reply.text


@pytest.mark.parametrize("given", ["a", "Trace:1.2_3-4", "x" * 128])
async def test_a_valid_request_id_comes_back(client, given):
    assert (await client.get("/health", headers={"X-Request-ID": given})).headers["x-request-id"] == given


@pytest.mark.parametrize("given", [None, "", "with space", "x" * 129, 'quo"te', "石".encode()])
async def test_any_other_request_gets_an_id_of_its_own(client, given):
    headers = {} if given is None else {"X-Request-ID": given}
    assert UUID((await client.get("/health", headers=headers)).headers["x-request-id"])


@pytest.mark.parametrize("path", ["/health", "/no/route", "/api/v1/sessions/none"])
async def test_every_reply_says_how_long_it_took(client, path):
    assert re.fullmatch(r"\d+\.\d{6}", (await client.get(path)).headers["x-process-time"])


async def test_unknown_routes_and_methods_are_refused_in_the_envelope(client):
    assert refusal(await client.get("/api/v1/nothing")) == (404, "NOT_FOUND", "Not Found")
    reply = await client.put("/api/v1/sessions")
    assert refusal(reply) == (405, "UNKNOWN", "Method Not Allowed")
    assert "POST" in reply.headers["allow"]


async def test_a_bug_is_answered_without_details_and_logged_without_what_was_said(services, monkeypatch):
    async def broken(_, scope, name, messages):
        raise RuntimeError(messages[0].parts[0]["text"])

    monkeypatch.setattr(type(services.messages), "append", broken)
    with capture_logs([structlog.contextvars.merge_contextvars]) as logged:
        async with calling(services) as client:
            reply = await client.post("/api/v1/sessions/a/messages", json=MESSAGE, headers={"X-Request-ID": "trace-me"})
    status, code, message = refusal(reply)
    assert (status, code, reply.json()["error"]["details"]) == (500, "INTERNAL", {})
    assert reply.headers["x-request-id"] == "trace-me"
    assert "RuntimeError" not in message
    assert [line["request_id"] for line in logged if line["event"] == "request_failed"] == ["trace-me"]
    assert "RuntimeError" in str(logged)
    assert MESSAGE["content"] not in reply.text + str(logged)


async def test_an_unavailable_part_says_when_to_come_back(services, client, monkeypatch):
    async def busy(*_):
        raise Unavailable("All database connections are in use; send the request again.", retry_after_seconds=1.2)

    monkeypatch.setattr(type(services.messages), "append", busy)
    reply = await client.post("/api/v1/sessions/a/messages", json=MESSAGE)
    assert refusal(reply)[:2] == (503, "UNAVAILABLE")
    assert reply.headers["retry-after"] == "2"


@pytest.mark.parametrize("stated", [True, False])
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(services, rows, stated):
    raw = b'{"role":"user","content":"' + b"x" * 2000 + b'"}'

    async def in_pieces():
        for start in range(0, len(raw), 500):
            yield raw[start : start + 500]

    async with calling(services, limits=BodyLimits(body_bytes=1000)) as client:
        reply = await client.post("/api/v1/sessions/a/messages", content=raw if stated else in_pieces())
    assert refusal(reply)[:2] == (413, "INVALID_ARGUMENT")
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]


@pytest.mark.parametrize("length", ["x", "-1", "９９", "9" * 5000])
async def test_an_odd_content_length_is_no_server_error(client, length):
    headers = {"content-length": length.encode()}
    reply = await client.post("/api/v1/sessions/a/messages", content=b"{}", headers=headers)
    assert reply.status_code in {400, 413}


@pytest.mark.parametrize("host", ["localhost:1933", "127.0.0.1", "[::1]:1933", "memory.example:80", "MEMORY.example"])
async def test_known_hosts_are_served(services, host):
    async with calling(services, allowed_hosts=["memory.example"]) as client:
        assert (await client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "[::2]", ""])
async def test_without_keys_a_foreign_host_is_refused(client, host):
    assert refusal(await client.get("/health", headers={"Host": host}))[:2] == (403, "PERMISSION_DENIED")


async def test_with_keys_and_no_list_any_host_is_served(keyed):
    assert (await keyed.get("/health", headers={"Host": "anything.example"})).status_code == 200


async def test_without_keys_a_foreign_page_cannot_write(client, rows):
    foreign = {"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
    reply = await client.post("/api/v1/sessions/a/messages", json=MESSAGE, headers=foreign)
    assert refusal(reply)[:2] == (403, "PERMISSION_DENIED")
    assert rows("SELECT count(*) FROM cairn.messages") == [(0,)]
    assert (await client.get("/console", headers=foreign)).status_code == 200


async def test_two_applications_share_nothing(services):
    first, second = (create_app(services, version=VERSION) for _ in range(2))
    for app, expected in ((first, "1.0"), (second, "1.0")):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=HOME) as client:
            await client.get("/health")
            assert f'route="/health",status="200"}} {expected}' in (await client.get("/metrics")).text


async def test_wrong_query_parameters_are_named_and_unknown_ones_ignored(client):
    result(await client.post("/api/v1/sessions/a/messages", json=MESSAGE))
    assert faults(await client.get("/api/v1/sessions/a?auto_create=perhaps")) == ["query.auto_create"]
    assert result(await client.get("/api/v1/sessions/a?profile=1&output=agent&auto_create=False"))["message_count"] == 1


async def test_health_makes_nobody(client, rows):
    await client.get("/health", headers={"X-OpenViking-Account": "acme", "X-OpenViking-User": "ann"})
    assert rows("SELECT count(*) FROM cairn.accounts") == [(0,)]


async def test_a_client_that_hangs_up_is_no_bug(services):
    app = create_app(services, version=VERSION)
    sent = []

    async def hung_up():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/sessions/a/messages",
        "raw_path": b"/api/v1/sessions/a/messages",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    with capture_logs() as logged:
        await app(scope, hung_up, send)
    assert sent == []
    assert [(line["event"], line["status"]) for line in logged] == [("request", 499)]
