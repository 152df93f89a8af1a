"""Every kind of error has one status."""

from collections.abc import Iterator

import pytest

from app.api.errors import STATUS, invalid_fields, status_of
from app.domain import errors
from app.domain.errors import AppError


def kinds(kind: type[AppError] = AppError) -> Iterator[type[AppError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from kinds(child)


EXPECTED = {
    "INVALID_ARGUMENT": {400, 413},
    "DEADLINE_EXCEEDED": {408},
    "UNAUTHENTICATED": {401},
    "PERMISSION_DENIED": {403},
    "NOT_FOUND": {404},
    "CONFLICT": {409},
    "ALREADY_EXISTS": {409},
    "FAILED_PRECONDITION": {412},
    "RESOURCE_EXHAUSTED": {429},
    "UNIMPLEMENTED": {501},
    "UNAVAILABLE": {503},
    "MODEL_UNAVAILABLE": {503},
}


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.__module__ == errors.__name__])
def test_a_code_always_comes_with_the_status_that_clients_expect(kind):
    assert status_of(kind) in EXPECTED.get(kind.code, {500})


def test_a_kind_that_is_not_in_the_table_takes_its_ancestors_status():
    class NewConflict(errors.AlreadyExists):
        pass

    assert NewConflict not in STATUS
    assert status_of(NewConflict) == 409


def test_a_refusal_names_only_the_first_faults_and_cuts_long_names():
    error = invalid_fields((("x" * 5000,), "unknown field", "extra_forbidden") for _ in range(1000))
    assert len(error.details["validation_errors"]) == 20
    assert len(error.message) < 5000
