"""Who may call what, in the three modes; and the words by which clients tell refusals apart."""

import re

import httpx
import pytest

from tests.api.route_table import ACCOUNT, ROUTES
from tests.support.api import ROOT_KEY, refusal, result, serving_mode

NAMES_OF_TENANTS = re.compile(r"x-openviking-account|account[_ ]?id|account context|account|tenant", re.IGNORECASE)
ANN = {"X-OpenViking-Account": ACCOUNT, "X-OpenViking-User": "ann"}
ROOT = {"X-API-Key": ROOT_KEY}
ALLOWED = "allowed"

AUDIENCES = {"anybody", "known", "tenant", "tasks", "admin", "root"}


def expected(**refused):
    """Return what each audience should meet: refused ones by status, all others are let in."""
    return {audience: refused.get(audience, ALLOWED) for audience in AUDIENCES}


NO_KEY = expected(known=401, tenant=401, tasks=401, admin=401, root=401)
KEYED = {
    "none": NO_KEY,
    "bad": NO_KEY,
    "basic": NO_KEY,
    "user": expected(admin=403, root=403),
    "admin": expected(root=403),
    "root": expected(tenant=403, tasks=400),
    "root naming a user": expected(tenant=403),
}
TRUSTED = {
    "none": NO_KEY,
    "bad": NO_KEY,
    "root": expected(known=400, tenant=400, tasks=400),
    "root naming a user": expected(admin=403, root=403),
    "root naming an admin": expected(root=403),
    "bad naming a user": NO_KEY,
}
DEV = {
    "none": expected(admin=403, root=403),
    "bad": expected(admin=403, root=403),
    "naming a user": expected(admin=403, root=403),
}
HEADERS = {
    "none": {},
    "bad": {"X-API-Key": "YWNtZQ.YW5u.bm8"},
    "basic": {"Authorization": "Basic YW5uOnNlY3JldA=="},
    "root": ROOT,
    "root naming a user": {**ROOT, **ANN},
    "root naming an admin": {**ROOT, **ANN, "X-OpenViking-Role": "admin"},
    "bad naming a user": {"X-API-Key": "bad", **ANN},
    "naming a user": ANN,
}


async def outcomes(client: httpx.AsyncClient, headers: dict[str, str]) -> dict[str, str | int]:
    """Call every route and return what each met. A missing thing behind the door counts as let in."""
    met: dict[str, str | int] = {}
    for case in ROUTES:
        reply = await client.request(case.method, case.path, json=case.body, headers=headers)
        assert reply.status_code < 500, (case.route, reply.text)
        shut = reply.status_code in {400, 401, 403}
        met[case.route] = reply.status_code if shut else ALLOWED
    return met


async def keys_of(client: httpx.AsyncClient) -> dict[str, str]:
    body = {"account_id": ACCOUNT, "admin_user_id": "adam"}
    admin = result(await client.post("/api/v1/admin/accounts", json=body, headers=ROOT))["user_key"]
    users = f"/api/v1/admin/accounts/{ACCOUNT}/users"
    user = result(await client.post(users, json={"user_id": "ann"}, headers=ROOT))["user_key"]
    return {"admin": admin, "user": user}


@pytest.mark.parametrize("kind", sorted(KEYED))
async def test_every_route_knows_who_may_call_it_with_a_key(database_url, kind):
    async with serving_mode(database_url, "api_key") as (_, client):
        keys = await keys_of(client)
        headers = HEADERS.get(kind) or ({"X-API-Key": keys[kind]} if kind in keys else {})
        met = await outcomes(client, headers)
    assert met == {case.route: KEYED[kind][case.audience] for case in ROUTES}


@pytest.mark.parametrize("kind", sorted(TRUSTED))
async def test_every_route_knows_who_may_call_it_through_a_gateway(database_url, kind):
    async with serving_mode(database_url, "trusted") as (services, client):
        await services.identity.create_account(ACCOUNT, "adam")
        met = await outcomes(client, HEADERS[kind])
    assert met == {case.route: TRUSTED[kind][case.audience] for case in ROUTES}


@pytest.mark.parametrize("kind", sorted(DEV))
async def test_every_route_but_administration_is_open_without_keys(database_url, kind):
    async with serving_mode(database_url, "dev") as (_, client):
        met = await outcomes(client, HEADERS[kind])
    assert met == {case.route: DEV[kind][case.audience] for case in ROUTES}


async def test_no_key_and_a_bad_key_are_told_apart_without_a_word_about_tenants(keyed):
    missing = await keyed.get("/api/v1/sessions", params={"limit": 1})
    bad = await keyed.get("/api/v1/sessions", headers={"X-API-Key": "nonsense"})
    assert refusal(missing)[:2] == (401, "UNAUTHENTICATED")
    assert refusal(bad) == (401, "UNAUTHENTICATED", "Invalid API Key")
    for reply in (missing, bad):
        assert reply.headers["www-authenticate"] == "Bearer"
        assert not NAMES_OF_TENANTS.search(reply.text)


async def test_the_root_key_on_data_is_told_to_use_a_users_key(keyed):
    status, code, message = refusal(await keyed.get("/api/v1/sessions", headers=ROOT))
    assert (status, code) == (403, "PERMISSION_DENIED")
    assert "Tenant-scoped data APIs" in message
    assert "user or admin key" in message


async def test_a_key_names_its_user_whatever_the_headers_say(keyed, rows):
    key = (await keys_of(keyed))["user"]
    headers = {"X-API-Key": key, "X-OpenViking-Account": "other", "X-OpenViking-User": "eve"}
    made = result(await keyed.post("/api/v1/sessions", json={}, headers=headers))
    assert made["user"] == {"account_id": ACCOUNT, "user_id": "ann"}
    assert rows("SELECT count(*) FROM cairn.accounts WHERE name = 'other'") == [(0,)]


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ({"X-API-Key": "{user}"}, "ann"),
        ({"Authorization": "Bearer {user}"}, "ann"),
        ({"authorization": "bearer {user}"}, "ann"),
        ({"X-API-Key": "{user}", "Authorization": "Bearer {admin}"}, "ann"),
        ({"X-API-Key": "", "Authorization": "Bearer {admin}"}, "adam"),
    ],
)
async def test_a_key_may_come_in_either_header_and_its_own_wins(keyed, headers, user):
    keys = await keys_of(keyed)
    sent = {name: value.format(**keys) for name, value in headers.items()}
    assert result(await keyed.get("/api/v1/system/status", headers=sent))["user"] == user


async def test_a_bad_key_in_its_own_header_is_not_saved_by_a_good_token(keyed):
    keys = await keys_of(keyed)
    headers = {"X-API-Key": "bad", "Authorization": f"Bearer {keys['user']}"}
    assert refusal(await keyed.get("/api/v1/sessions", headers=headers))[0] == 401


async def test_users_see_only_their_own_sessions(keyed):
    keys = await keys_of(keyed)
    ann, adam = ({"X-API-Key": keys[name]} for name in ("user", "admin"))
    message = {"role": "user", "content": "secret"}
    result(await keyed.post("/api/v1/sessions/talk/messages", json=message, headers=ann))
    result(await keyed.post("/api/v1/sessions/talk/commit", json={}, headers=ann))
    task = result(await keyed.get("/api/v1/tasks", headers=ann))[0]["task_id"]
    assert result(await keyed.get("/api/v1/sessions", headers=adam)) == []
    assert result(await keyed.get("/api/v1/tasks", headers=adam)) == []
    for path in ("sessions/talk", "sessions/talk/context", "sessions/talk/archives/archive_001", f"tasks/{task}"):
        assert refusal(await keyed.get(f"/api/v1/{path}", headers=adam))[:2] == (404, "NOT_FOUND"), path
    assert refusal(await keyed.post(f"/api/v1/tasks/{task}/cancel", headers=adam))[0] == 404
    assert refusal(await keyed.delete("/api/v1/sessions/talk", headers=adam))[0] == 404
    assert len(result(await keyed.get("/api/v1/sessions", headers=ann))) == 1


async def test_the_root_key_may_look_at_the_tasks_of_a_user_it_names(keyed):
    key = {"X-API-Key": (await keys_of(keyed))["user"]}
    result(await keyed.post("/api/v1/sessions/talk/messages", json={"role": "user", "content": "x"}, headers=key))
    task = result(await keyed.post("/api/v1/sessions/talk/commit", json={}, headers=key))["task_id"]
    assert result(await keyed.get(f"/api/v1/tasks/{task}", headers={**ROOT, **ANN}))["task_id"] == task
    nobody = {**ROOT, "X-OpenViking-Account": "none", "X-OpenViking-User": "none"}
    assert refusal(await keyed.get("/api/v1/tasks", headers=nobody))[0] == 404


@pytest.mark.parametrize("missing", sorted(ANN))
async def test_a_gateway_that_forgets_a_header_is_told_which(database_url, missing):
    headers = {**ROOT, **{name: value for name, value in ANN.items() if name != missing}}
    async with serving_mode(database_url, "trusted") as (_, client):
        status, code, message = refusal(await client.get("/api/v1/sessions", headers=headers))
    assert (status, code) == (400, "INVALID_ARGUMENT")
    assert missing in message


async def test_a_gateway_needs_no_accounts_beforehand(database_url, rows):
    async with serving_mode(database_url, "trusted") as (_, client):
        made = result(await client.post("/api/v1/sessions", json={}, headers={**ROOT, **ANN}))
    assert made["user"] == {"account_id": ACCOUNT, "user_id": "ann"}
    assert rows("SELECT name FROM cairn.users") == [("ann",)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"X-OpenViking-Account": "_reserved"},
        {"X-OpenViking-Account": "a/b"},
        {"X-OpenViking-User": "a b"},
        {"X-OpenViking-User": "x" * 129},
        {"X-OpenViking-Role": "root"},
        {"X-OpenViking-Role": "owner"},
    ],
)
async def test_names_and_roles_that_cannot_be_are_refused(database_url, wrong, rows):
    async with serving_mode(database_url, "trusted") as (_, client):
        reply = await client.get("/api/v1/sessions", headers={**ROOT, **ANN, **wrong})
    assert refusal(reply)[:2] == (400, "INVALID_ARGUMENT")
    assert rows("SELECT count(*) FROM cairn.accounts") == [(0,)]


async def test_without_keys_the_headers_name_the_user_or_the_default_one(client):
    assert result(await client.get("/api/v1/system/status"))["user"] == "default"
    assert result(await client.get("/api/v1/system/status", headers=ANN))["user"] == "ann"
