"""The tool schemas: strict, complete, and in step with what is read."""

from typing import Any

import jsonschema
import pytest

from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.schema import create_parameters, create_tool, update_parameters, update_tool
from app.domain.working_memory.sections import SECTIONS

KEEP_ALL = {section.value: {"op": "KEEP"} for section in SECTIONS}


def with_state(op: Any) -> dict[str, Any]:
    return {"sections": {**KEEP_ALL, "Current State": op}}


def is_valid(schema: dict[str, object], value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("schema", [update_parameters(), update_parameters(one_of=False), create_parameters()])
def test_schemas_are_schemas(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("one_of", [True, False])
@pytest.mark.parametrize(
    "op",
    [{"op": "KEEP"}, {"op": "UPDATE", "content": "x"}, {"op": "APPEND", "items": ["a"]}, {"op": "APPEND", "items": []}],
)
def test_the_three_operations_are_valid_and_read(op: Any, one_of: bool) -> None:
    assert is_valid(update_parameters(one_of=one_of), with_state(op))
    assert len(read_answer(with_state(op)).ops) == len(SECTIONS)


@pytest.mark.parametrize("one_of", [True, False])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(with_state({"op": "keep"}), id="lower case"),
        pytest.param(with_state({"op": "DROP"}), id="unknown operation"),
        pytest.param(with_state({"op": "UPDATE", "content": 5}), id="number for a text"),
        pytest.param(with_state({"op": "APPEND", "items": "a"}), id="text for a list"),
        pytest.param(with_state({"op": "APPEND", "items": [1]}), id="number in a list"),
        pytest.param(with_state({"op": "KEEP", "why": "x"}), id="unknown key"),
        pytest.param(with_state("KEEP"), id="no object"),
        pytest.param({"sections": {**KEEP_ALL, "Notes": {"op": "KEEP"}}}, id="eighth section"),
        pytest.param({"sections": {"Current State": {"op": "KEEP"}}}, id="missing sections"),
        pytest.param(KEEP_ALL, id="no wrapper"),
        pytest.param({"sections": KEEP_ALL, "x": 1}, id="unknown key beside the wrapper"),
    ],
)
def test_anything_else_is_invalid(value: Any, one_of: bool) -> None:
    assert not is_valid(update_parameters(one_of=one_of), value)


@pytest.mark.parametrize(
    "op",
    [{"op": "UPDATE"}, {"op": "APPEND"}, {"op": "KEEP", "content": "x"}, {"op": "UPDATE", "content": "x", "items": []}],
)
def test_the_three_shapes_keep_their_keys_apart(op: Any) -> None:
    assert not is_valid(update_parameters(), with_state(op))
    assert is_valid(update_parameters(one_of=False), with_state(op))


def test_the_variant_for_simple_servers_has_no_one_of() -> None:
    assert "oneOf" in str(update_parameters())
    assert "oneOf" not in str(update_parameters(one_of=False))


def test_creation_wants_seven_texts() -> None:
    bodies = {section.value: "x" for section in SECTIONS}
    assert is_valid(create_parameters(), bodies)
    assert read_created(bodies) is not None
    assert not is_valid(create_parameters(), {**bodies, "Notes": "x"})
    assert not is_valid(create_parameters(), {**bodies, "Open Issues": None})
    assert not is_valid(create_parameters(), dict(list(bodies.items())[:6]))


@pytest.mark.parametrize("tool", [update_tool(), update_tool(one_of=False), create_tool()])
def test_tools_are_strict_functions_with_closed_parameters(tool: dict[str, Any]) -> None:
    function = tool["function"]
    assert (tool["type"], function["strict"]) == ("function", True)
    assert function["name"] in ("update_working_memory", "create_working_memory")
    assert function["parameters"]["additionalProperties"] is False
    assert function["description"]
