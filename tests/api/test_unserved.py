"""Routes that clients of the peer may ask for, and that are not served here."""

import pytest


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/search/find"),
        ("POST", "/api/v1/resources"),
        ("POST", "/api/v1/resources/temp_upload"),
        ("GET", "/api/v1/fs/ls?uri=viking://user"),
        ("DELETE", "/api/v1/fs?uri=viking://user/x"),
        ("GET", "/api/v1/content/read?uri=viking://user/x"),
        ("GET", "/api/v1/observer/system"),
        ("POST", "/api/v1/system/wait"),
        ("POST", "/api/v1/sessions/talk/used"),
    ],
)
async def test_a_route_of_the_peer_says_that_it_is_not_served(client, method, path):
    reply = await client.request(method, path, json={} if method == "POST" else None)
    assert reply.status_code == 501
    assert reply.json()["status"] == "error"
    assert reply.json()["error"]["code"] == "UNIMPLEMENTED"
    assert path.partition("?")[0] in reply.json()["error"]["message"]


async def test_without_a_key_nobody_learns_what_is_served(keyed):
    assert (await keyed.post("/api/v1/search/find", json={})).status_code == 401


async def test_a_route_nobody_knows_is_not_found(client):
    assert (await client.get("/api/v1/colours")).status_code == 404


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_probes_may_ask_by_head(client, path):
    reply = await client.head(path)
    assert (reply.status_code, reply.content) == (200, b"")
