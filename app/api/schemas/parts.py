"""The parts of a message: known types are checked field by field, everything else is kept as it was sent.

A part is a plain dictionary before and after: what is checked here is only that a known field has its type. `null` is
as good as absent.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, StringConstraints, Tag, with_config
from typing_extensions import TypedDict

PART_TAGS: Final = frozenset({"#text", "#tool", "#context", "#image", "#other"})
"""What pydantic puts into the path of an error to say which kind of part it took this for; people are not shown it."""

_OPEN: Final = ConfigDict(extra="allow", strict=True)

ToolId: TypeAlias = Annotated[str, StringConstraints(max_length=512)]


@with_config(_OPEN)
class TextPart(TypedDict, total=False):
    type: Literal["text"]
    text: str | None


@with_config(_OPEN)
class ToolPart(TypedDict, total=False):
    """A tool call, its result, or both. A result in another message belongs to its call by `tool_id`."""

    type: Literal["tool"]
    tool_id: ToolId | None
    tool_name: str | None
    tool_uri: str | None
    skill_uri: str | None
    tool_status: str | None
    tool_input: Any
    tool_output: Any


@with_config(_OPEN)
class ContextPart(TypedDict, total=False):
    type: Literal["context"]
    uri: str | None
    context_type: str | None
    abstract: str | None


@with_config(_OPEN)
class ImagePart(TypedDict, total=False):
    type: Literal["image"]
    url: str | None
    data: str | None
    mime_type: str | None


@with_config(_OPEN)
class OtherPart(TypedDict, total=False):
    """A part of a type this server gives no meaning to: stored and given back."""

    type: str


def _tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    tag = f"#{kind}" if isinstance(kind, str) else "#other"
    return tag if tag in PART_TAGS else "#other"


MessagePart: TypeAlias = Annotated[
    Annotated[TextPart, Tag("#text")]
    | Annotated[ToolPart, Tag("#tool")]
    | Annotated[ContextPart, Tag("#context")]
    | Annotated[ImagePart, Tag("#image")]
    | Annotated[OtherPart, Tag("#other")],
    Discriminator(_tag),
]
