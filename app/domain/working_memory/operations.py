"""What a model may ask for one section."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from app.domain.working_memory.items import read_items
from app.domain.working_memory.sections import Section
from app.domain.working_memory.wording import has_mark


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the section as it is, byte for byte."""

    name: ClassVar[str] = "KEEP"


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the whole body. The guards decide what that may lose.

    truncated: the answer broke off inside this text.
    """

    content: str
    truncated: bool = False
    name: ClassVar[str] = "UPDATE"


@dataclass(frozen=True, slots=True)
class Append:
    """Add items below the body, one bullet each.

    truncated: the answer broke off inside the last item.
    """

    items: tuple[str, ...]
    truncated: bool = False
    name: ClassVar[str] = "APPEND"


SectionOp: TypeAlias = Keep | Update | Append
SectionOps: TypeAlias = Mapping[Section, SectionOp]
KEEP: Final = Keep()


def read_op(value: object) -> SectionOp | None:
    """Return the operation that a decoded JSON value means; None when it means none, which is the same as KEEP.

    Names are taken in any case but not trimmed. Anything of a wrong type is no operation, except that APPEND takes
    text for its items.
    """
    if isinstance(value, Keep | Update | Append):
        return value
    name = value.get("op") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(name, str):
        return None
    match name.upper():
        case "KEEP":
            return KEEP
        case "UPDATE":
            return _read_update(value.get("content", ""))
        case "APPEND":
            return Append(_read_items(value.get("items"), value.get("content")))
        case _:
            return None


def _read_update(content: object) -> Update | None:
    return Update(content) if isinstance(content, str) else None


def _read_items(items: object, content: object) -> tuple[str, ...]:
    if isinstance(items, str):
        return items_of_text(items)
    if isinstance(items, list | tuple) and items:
        return tuple(item for item in items if isinstance(item, str) and item.strip())
    return items_of_text(content) if not items and isinstance(content, str) else ()


def items_of_text(text: str) -> tuple[str, ...]:
    """Return the bullets of a text that came in place of a list; a text without bullets is one item."""
    if not any(has_mark(line.strip()) for line in text.split("\n")):
        return (text,) if text.strip() else ()
    return tuple(item.text for item in read_items(text))


def op_document(op: SectionOp) -> dict[str, object]:
    """Return the operation as the JSON object that a model would write; `truncated` only where it is true."""
    document: dict[str, object] = {"op": op.name}
    if isinstance(op, Update):
        document["content"] = op.content
    if isinstance(op, Append):
        document["items"] = list(op.items)
    if isinstance(op, Update | Append) and op.truncated:
        document["truncated"] = True
    return document
