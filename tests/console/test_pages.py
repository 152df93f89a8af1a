"""The front page and the list of routes: from this server alone."""

import re

import pytest

from tests.api.route_table import ROUTES
from tests.support.api import VERSION, calling
from tests.support.house import house


@pytest.fixture
async def client(database_url):
    async with house(database_url) as services, calling(services) as connected:
        yield connected


@pytest.mark.parametrize("path", ["/console", "/docs", "/console/static/console.css"])
async def test_a_page_may_load_nothing_from_elsewhere(client, path):
    reply = await client.get(path)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert not re.search(r"(?:https?:)?//\w", reply.text)
    assert "<script" not in reply.text
    assert "style=" not in reply.text


async def test_the_front_page_says_what_this_is_and_what_is_not_built(client):
    page = (await client.get("/console")).text
    assert VERSION in page
    assert "extractive" in page
    assert "not built yet" in page


async def test_every_link_of_the_front_page_works(client):
    links = re.findall(r'(?:href)="([^"]+)"', (await client.get("/console")).text)
    assert {"/docs", "/health", "/ready"} <= set(links)
    for link in links:
        assert (await client.get(link)).status_code == 200, link


async def test_the_list_has_every_route(client):
    page = (await client.get("/docs")).text
    shown = {f"{method} {path}" for method, path in re.findall(r'method">(\w+)</span> <code>([^<]+)</code>', page)}
    assert shown == {case.route for case in ROUTES}
    assert "keep_recent_count" in page
