"""Whether a model kept to the schema it was given."""

import json
from collections.abc import Mapping

from jsonschema import Draft202012Validator

_MOST_CHARACTERS = 300


def schema_fault(content: str, parameters: Mapping[str, object]) -> str | None:
    """Return where an answer leaves its schema, None when it does not.

    The text names the place and the rule, never what the model wrote there.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return "not JSON"
    validator = Draft202012Validator(parameters)
    error = next(iter(sorted(validator.iter_errors(answer), key=lambda fault: len(fault.absolute_path))), None)
    if error is None:
        return None
    place = "/".join(str(step) for step in error.absolute_path) or "the whole answer"
    return f"{place}: breaks {error.validator!r}"[:_MOST_CHARACTERS]
