"""The description of the API, the table of routes and the table of known fields say the same."""

import re

import pytest

from app.api.known_fields import BODIES, KNOWN_FIELDS
from tests.api.route_table import ROUTES
from tests.support.api import refusal


async def described(client):
    document = (await client.get("/openapi.json")).json()
    return document, {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


async def test_every_route_is_in_the_table(client):
    _, operations = await described(client)
    assert set(operations) == {case.route for case in ROUTES}


async def test_every_body_has_its_known_fields_in_one_table(client):
    document, operations = await described(client)
    schemas = document["components"]["schemas"]
    fields = {
        route: set(schemas[schema["$ref"].rsplit("/", 1)[-1]]["properties"])
        for route, operation in operations.items()
        if "requestBody" in operation
        for schema in [operation["requestBody"]["content"]["application/json"]["schema"]]
    }
    assert fields == KNOWN_FIELDS
    assert {route: set(body.model_fields) for route, body in BODIES.items()} == KNOWN_FIELDS


@pytest.mark.parametrize("route", sorted(KNOWN_FIELDS))
async def test_every_body_refuses_an_unknown_field_and_says_what_is_known(keyed, route):
    case = next(case for case in ROUTES if case.route == route)
    root = {"X-API-Key": "root-key-of-the-tests"}
    made = await keyed.post("/api/v1/admin/accounts", json={"account_id": "acme", "admin_user_id": "ann"}, headers=root)
    headers = {"X-API-Key": made.json()["result"]["user_key"]} if case.audience == "tenant" else root
    reply = await keyed.request(case.method, case.path, json={**(case.body or {}), "colour": 1}, headers=headers)
    assert refusal(reply)[:2] == (400, "INVALID_ARGUMENT")
    assert "body.colour: unknown field; known are" in refusal(reply)[2]
    assert all(name in refusal(reply)[2] for name in KNOWN_FIELDS[route])


async def test_every_reference_of_the_description_is_there(client):
    document, _ = await described(client)
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', (await client.get("/openapi.json")).text))
    assert names <= set(document["components"]["schemas"])


async def test_every_route_says_what_it_answers_and_never_422(client):
    _, operations = await described(client)
    for route, operation in operations.items():
        assert operation["summary"], route
        assert operation["description"], route
        assert "422" not in operation["responses"], route
        if route.split(" ")[1].startswith("/api/"):
            (content,) = operation["responses"]["200"]["content"].values()
            assert "$ref" in content["schema"] or "oneOf" in content["schema"], route
            assert operation["security"], route
