"""An answer is measured against the schema that went out with the question."""

import json

import pytest

from app.domain.working_memory.schema import update_parameters
from app.domain.working_memory.sections import SECTIONS
from app.providers.schema_check import schema_fault

KEEP_ALL = {"sections": {section.value: {"op": "KEEP"} for section in SECTIONS}}


def _with(op: object) -> str:
    return json.dumps({"sections": {**KEEP_ALL["sections"], "Open Issues": op}})


def test_an_answer_in_shape_has_no_fault() -> None:
    assert schema_fault(json.dumps(KEEP_ALL), update_parameters()) is None
    assert schema_fault(_with({"op": "APPEND", "items": ["call Anna"]}), update_parameters()) is None


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param("I will remember that.", "not JSON", id="prose"),
        pytest.param("[" * 100_000, "not JSON", id="a bomb of brackets"),
        pytest.param("{}", "the whole answer", id="nothing"),
        pytest.param(_with({"op": "DELETE"}), "sections/Open Issues", id="an operation nobody knows"),
        pytest.param(_with({"op": "UPDATE", "content": 7}), "sections/Open Issues", id="a number for text"),
        pytest.param(_with({"op": "KEEP", "why": "x"}), "sections/Open Issues", id="a field too many"),
    ],
)
def test_a_fault_names_the_place_and_not_the_text(content: str, place: str) -> None:
    fault = schema_fault(content, update_parameters())
    assert fault is not None
    assert fault.startswith(place)
    assert "remember" not in fault
