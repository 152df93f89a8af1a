"""Stepping down from one way of asking to the next, and schemas for servers that know no oneOf."""

import jsonschema
import pytest

from app.domain.working_memory.schema import create_parameters, update_parameters
from app.domain.working_memory.sections import SECTIONS
from app.providers.capabilities import Capability, Transport, simple_schema


@pytest.mark.parametrize(
    ("refusal", "before", "after"),
    [
        ("'oneOf' is not permitted", Capability(), Capability(one_of=False)),
        ("Unrecognized schema keyword", Capability(), Capability(one_of=False)),
        ("Invalid schema", Capability(one_of=False), Capability(Transport.JSON_MODE, one_of=False)),
        ("tool_choice must be auto or none", Capability(), Capability(Transport.AUTO_TOOL)),
        ('"auto" tool choice requires --enable-auto-tool-choice', Capability(), Capability(Transport.AUTO_TOOL)),
        (
            '"auto" tool choice requires --enable-auto-tool-choice',
            Capability(Transport.AUTO_TOOL),
            Capability(Transport.JSON_MODE),
        ),
        ("tools param requires --jinja flag", Capability(), Capability(Transport.JSON_MODE)),
        ("No endpoints found that support tool use", Capability(), Capability(Transport.JSON_MODE)),
        ("m does not support tools", Capability(misses=2), Capability(Transport.JSON_MODE)),
        ("response_format json_object unsupported", Capability(Transport.JSON_MODE), Capability(Transport.PLAIN)),
        ("System role not supported", Capability(), Capability(system_role=False)),
        ("Something is wrong", Capability(), None),
        ("m does not support tools", Capability(Transport.JSON_MODE), None),
        ("response_format unsupported", Capability(Transport.PLAIN), None),
    ],
)
def test_a_refusal_that_names_a_feature_leads_to_the_next_way(
    refusal: str, before: Capability, after: Capability | None
) -> None:
    assert before.after_refusal(refusal) == after


def test_stepping_down_always_ends() -> None:
    everything = "system role, oneOf schema, tool_choice, tools, response_format"
    capability: Capability | None = Capability()
    steps = 0
    while capability is not None:
        capability = capability.after_refusal(everything)
        steps += 1
    assert steps <= 6


def test_in_the_simple_schema_no_shape_is_lost() -> None:
    schema = update_parameters()
    flat = simple_schema(schema)
    assert "oneOf" not in str(flat)
    assert "additionalProperties" not in str(flat)
    names = [section.value for section in SECTIONS]
    ops: list[dict[str, object]] = [{"op": "KEEP"}, {"op": "UPDATE", "content": "x"}, {"op": "APPEND", "items": ["x"]}]
    for op in ops:
        jsonschema.validate({"sections": dict.fromkeys(names, op)}, flat)
    unknown = {"op": "DELETE"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"sections": dict.fromkeys(names, unknown)}, flat)


def test_a_schema_without_special_words_stays_as_it_is() -> None:
    plain = {key: value for key, value in create_parameters().items() if key != "additionalProperties"}
    assert simple_schema(create_parameters()) == plain
    assert simple_schema(plain) == plain


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"type": "object", "properties": {"oneOf": {"type": "string"}, "additionalProperties": {"type": "string"}}}
    assert simple_schema(schema) == schema
