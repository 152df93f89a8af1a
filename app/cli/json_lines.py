"""One line of a file as an object that can be sent: nothing in it is guessed, replaced or left for the server."""

import json
from typing import Any

from app.domain.errors import InvalidInput


def object_of(raw: bytes, number: int) -> dict[str, Any]:
    """Return the object of a line. Raises: InvalidInput saying why it is none, without its place.

    number: of the line, from 1; only the first one may begin with a byte order mark.
    """
    try:
        found = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise InvalidInput("this is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise InvalidInput("a message is an object in braces")
    canonical(found)
    return found


def canonical(value: object) -> bytes:
    """Return the same bytes for all spellings of the same JSON. Raises: InvalidInput for what no JSON can carry."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("a text holds half of a surrogate pair, such as \\ud800, which is no character") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not JSON ({error})") from None


def whole_text(raw: bytes) -> str:
    """Return the text of a file without its byte order mark. Raises: InvalidInput naming the line that is not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidInput(f"line {line}: this is not UTF-8") from None
