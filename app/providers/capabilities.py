"""What a model service takes, learnt from its refusals and remembered per model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol


class Transport(StrEnum):
    """How a model is asked for JSON, most reliable first."""

    FORCED_TOOL = "forced_tool"
    AUTO_TOOL = "auto_tool"
    JSON_MODE = "json_mode"
    PLAIN = "plain"

    @property
    def offers_tool(self) -> bool:
        return self in {Transport.FORCED_TOOL, Transport.AUTO_TOOL}


_MISSES_ALLOWED: Final = 2


@dataclass(frozen=True, slots=True)
class Capability:
    """How to ask one model.

    one_of: its server takes the schemas as they are, with oneOf and additionalProperties.
    system_role: it takes a system message.
    misses: how often in a row it was offered a tool and answered in prose.
    """

    transport: Transport = Transport.FORCED_TOOL
    one_of: bool = True
    system_role: bool = True
    misses: int = 0

    def after_answer(self, *, tool_called: bool) -> "Capability":
        """Return what to try next time: a model that keeps ignoring its tool is asked for JSON in the text instead."""
        if not self.transport.offers_tool or tool_called:
            return replace(self, misses=0)
        if self.misses < _MISSES_ALLOWED:
            return replace(self, misses=self.misses + 1)
        return replace(self, transport=Transport.JSON_MODE, misses=0)

    def after_refusal(self, refusal: str) -> "Capability | None":
        """Return the next way to ask, when the refusal names a feature that this way uses; None when it names none."""
        if self.system_role and _SYSTEM_ROLE.search(refusal):
            return replace(self, system_role=False)
        if self.transport.offers_tool and self.one_of and _ONE_OF.search(refusal):
            return replace(self, one_of=False)
        if self.transport is Transport.FORCED_TOOL and _TOOL_CHOICE.search(refusal):
            return replace(self, transport=Transport.AUTO_TOOL, misses=0)
        if self.transport.offers_tool and (_TOOLS.search(refusal) or _ONE_OF.search(refusal)):
            return replace(self, transport=Transport.JSON_MODE, misses=0)
        if self.transport is Transport.JSON_MODE and _JSON_MODE.search(refusal):
            return replace(self, transport=Transport.PLAIN, misses=0)
        return None


_SYSTEM_ROLE: Final = re.compile(
    r"system (?:role|message|prompt)s?|role[^a-z]{1,3}system|developer instruction", re.IGNORECASE
)
_ONE_OF: Final = re.compile(r"one_?of|any_?of|schema|grammar|additional_?properties|\bparameters\b", re.IGNORECASE)
_TOOL_CHOICE: Final = re.compile(r"tool[_ ]choice|function_call\b|named tool|forced? tool", re.IGNORECASE)
_TOOLS: Final = re.compile(r"\btools?\b|function[ _]call|\bfunctions?\b|tool[_ ]", re.IGNORECASE)
_JSON_MODE: Final = re.compile(r"response[_ ]format|json[_ ](?:object|mode|schema)|structured output", re.IGNORECASE)


class CapabilityStore(Protocol):
    """Where capabilities are kept between calls; a table can stand behind it as well as a dictionary."""

    async def recall(self, service: str, model: str) -> Capability | None: ...

    async def remember(self, service: str, model: str, capability: Capability) -> None: ...


class CapabilitiesInMemory:
    """Capabilities for as long as the process lives."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Capability] = {}

    async def recall(self, service: str, model: str) -> Capability | None:
        return self._known.get((service, model))

    async def remember(self, service: str, model: str, capability: Capability) -> None:
        self._known[service, model] = capability


def simple_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the schema for servers that know only the basics: no oneOf, no additionalProperties.

    A oneOf of object shapes becomes one shape that allows all of them: properties and enums united, required what
    every shape requires. What this lets through and the original does not is judged by whoever reads the answer.
    """
    simple: dict[str, object] = {}
    for key, value in schema.items():
        if key == "oneOf" and isinstance(value, list):
            simple.update(_united([simple_schema(shape) for shape in value if isinstance(shape, Mapping)]))
        elif key == "properties" and isinstance(value, Mapping):
            simple[key] = {name: simple_schema(part) for name, part in value.items() if isinstance(part, Mapping)}
        elif key == "items" and isinstance(value, Mapping):
            simple[key] = simple_schema(value)
        elif key != "additionalProperties":
            simple[key] = value
    return simple


def _united(shapes: list[Mapping[str, object]]) -> dict[str, object]:
    properties: dict[str, object] = {}
    required: list[set[str]] = []
    for shape in shapes:
        own = shape.get("properties")
        for name, value in own.items() if isinstance(own, Mapping) else ():
            properties[name] = _merged(properties.get(name), value)
        names = shape.get("required")
        required.append({str(name) for name in names} if isinstance(names, list) else set())
    shared = set.intersection(*required) if required else set()
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in shared],
    }


def _merged(one: object, other: object) -> object:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return other
    enums = [shape.get("enum") for shape in (one, other)]
    if all(isinstance(enum, list) for enum in enums):
        values = [value for enum in enums if isinstance(enum, list) for value in enum]
        return {**one, "enum": list(dict.fromkeys(values))}
    return one
