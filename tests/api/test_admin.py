"""Accounts, users and keys over HTTP."""

import pytest

from tests.support.api import ROOT_KEY, faults, refusal, result, serving_mode

ACCOUNTS = "/api/v1/admin/accounts"
ROOT = {"X-API-Key": ROOT_KEY}
ACME = {"account_id": "acme", "admin_user_id": "adam"}


async def made_account(client, **body):
    return result(await client.post(ACCOUNTS, json={**ACME, **body}, headers=ROOT))


async def status_with(client, key):
    return (await client.get("/api/v1/sessions", headers={"X-API-Key": key})).status_code


async def test_an_account_comes_with_the_key_of_its_administrator(keyed, rows):
    made = await made_account(keyed)
    assert set(made) == {"account_id", "admin_user_id", "user_key"}
    assert len(made["user_key"].split(".")) == 3
    assert await status_with(keyed, made["user_key"]) == 200
    assert rows("SELECT name, role FROM cairn.users") == [("adam", "admin")]


async def test_no_key_is_stored(keyed, rows):
    key = (await made_account(keyed))["user_key"]
    stored = rows("SELECT k::text FROM cairn.api_keys k")
    assert len(stored) == 1
    assert key not in stored[0][0]
    assert key.split(".")[2] not in stored[0][0]


async def test_an_account_that_is_there_is_a_conflict(keyed):
    await made_account(keyed)
    reply = await keyed.post(ACCOUNTS, json=ACME, headers=ROOT)
    assert refusal(reply)[:2] == (409, "ALREADY_EXISTS")
    assert reply.json()["error"]["details"]["type"] == "account"


async def test_accounts_are_listed_with_their_users_counted(keyed):
    await made_account(keyed)
    listed = result(await keyed.get(ACCOUNTS, headers=ROOT))
    assert [(one["account_id"], one["user_count"]) for one in listed] == [("acme", 1)]
    assert set(listed[0]) == {"account_id", "created_at", "user_count"}


async def test_a_user_comes_with_a_key_and_is_listed_without(keyed):
    admin = {"X-API-Key": (await made_account(keyed))["user_key"]}
    made = result(await keyed.post(f"{ACCOUNTS}/acme/users", json={"user_id": "ann"}, headers=admin))
    assert set(made) == {"account_id", "user_id", "user_key"}
    assert await status_with(keyed, made["user_key"]) == 200
    assert result(await keyed.get(f"{ACCOUNTS}/acme/users", headers=admin)) == [
        {"user_id": "adam", "role": "admin", "api_key": None},
        {"user_id": "ann", "role": "user", "api_key": None},
    ]
    reply = await keyed.post(f"{ACCOUNTS}/acme/users", json={"user_id": "ann"}, headers=admin)
    assert refusal(reply)[:2] == (409, "ALREADY_EXISTS")
    assert reply.json()["error"]["details"]["type"] == "user"


async def test_a_renewed_key_ends_the_old_one_at_once(keyed):
    old = (await made_account(keyed))["user_key"]
    assert await status_with(keyed, old) == 200
    new = result(await keyed.post(f"{ACCOUNTS}/acme/users/adam/key", headers=ROOT))["user_key"]
    assert (await status_with(keyed, old), await status_with(keyed, new)) == (401, 200)


async def test_an_administrator_reaches_no_other_account_and_learns_nothing_about_it(keyed):
    admin = {"X-API-Key": (await made_account(keyed))["user_key"]}
    await made_account(keyed, account_id="there")
    replies = [await keyed.get(f"{ACCOUNTS}/{name}/users", headers=admin) for name in ("there", "nowhere")]
    assert [refusal(reply) for reply in replies] == [(403, "PERMISSION_DENIED", "Requires role: root")] * 2


async def test_a_plain_user_is_told_which_role_it_takes(keyed):
    await made_account(keyed)
    made = result(await keyed.post(f"{ACCOUNTS}/acme/users", json={"user_id": "ann"}, headers=ROOT))
    reply = await keyed.get(f"{ACCOUNTS}/acme/users", headers={"X-API-Key": made["user_key"]})
    assert refusal(reply) == (403, "PERMISSION_DENIED", "Requires role: root or admin")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_account_that_is_not_there_is_not_found(keyed, method):
    reply = await keyed.request(method, f"{ACCOUNTS}/none/users", json={"user_id": "ann"}, headers=ROOT)
    assert refusal(reply)[:2] == (404, "NOT_FOUND")


@pytest.mark.parametrize("user", ["none", "%00", "石"])
async def test_a_key_for_nobody_is_not_made(keyed, user):
    await made_account(keyed)
    reply = await keyed.post(f"{ACCOUNTS}/acme/users/{user}/key", headers=ROOT)
    assert refusal(reply)[0] in {400, 404}


@pytest.mark.parametrize("account", ["%00", "_hidden", "石"])
async def test_an_account_name_that_cannot_be_is_refused_or_not_found(keyed, account):
    reply = await keyed.get(f"{ACCOUNTS}/{account}/users", headers=ROOT)
    assert refusal(reply)[0] in {400, 404}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"account_id": "_hidden"}, 400),
        ({"account_id": "a/b"}, 400),
        ({"account_id": ""}, 400),
        ({"admin_user_id": "a b"}, 400),
        ({"seed": "x"}, 501),
        ({"user_config": {"a": 1}}, 501),
    ],
)
async def test_an_account_that_cannot_be_is_refused(keyed, rows, body, status):
    assert refusal(await keyed.post(ACCOUNTS, json={**ACME, **body}, headers=ROOT))[0] == status
    assert rows("SELECT count(*) FROM cairn.accounts") == [(0,)]


@pytest.mark.parametrize("role", ["root", "ADMIN", 1])
async def test_nobody_is_made_root(keyed, role):
    await made_account(keyed)
    body = {"user_id": "ann", "role": role}
    assert faults(await keyed.post(f"{ACCOUNTS}/acme/users", json=body, headers=ROOT)) == ["body.role"]


async def test_a_gateway_is_shown_no_keys(database_url):
    async with serving_mode(database_url, "trusted") as (_, client):
        assert await made_account(client) == ACME
        made = result(await client.post(f"{ACCOUNTS}/acme/users", json={"user_id": "ann"}, headers=ROOT))
        assert made == {"account_id": "acme", "user_id": "ann"}
