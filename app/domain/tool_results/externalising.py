"""Which outputs and inputs of tools are too large for their message, and the message without them."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.domain.messages import NewMessage, Part, body_sha256
from app.domain.tool_results.kinds import MIME_TYPES, Kind, kind_of
from app.domain.tool_results.preview import full_text, input_preview, output_preview
from app.domain.tool_results.synopsis import synopsis

LONGEST_TOOL_ID: Final = 96
_REFERENCE: Final = re.compile(r"viking://(?:user/[^/]+/)?sessions?/[^/]+/tool-results/([A-Za-z0-9_.-]+)")
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9_.-]")

ReferenceOf = Callable[[str], str]
"""From the id of a tool result to the address where it is read."""


class Direction(StrEnum):
    OUTPUT = "output"
    INPUT = "input"


class Reason(StrEnum):
    """Why a text was taken out of its message: for its own size, or for the size of all that stands in the message."""

    SINGLE_THRESHOLD = "single_threshold"
    TURN_BUDGET = "turn_budget"


@dataclass(frozen=True, slots=True)
class ToolResultLimits:
    """Sizes in characters. threshold: a longer text leaves its message; 0 keeps everything where it is.

    inline_budget: so much the texts of one message may take together, previews included. A preview has at most
    preview_chars; those of one message share preview_budget, but none is made smaller than least_preview.
    """

    threshold: int = 20_000
    preview_chars: int = 2_000
    inline_budget: int = 100_000
    preview_budget: int = 10_000
    least_preview: int = 1_000

    def preview_size(self, count: int) -> int:
        """Return the size of each preview where a message has `count` of them."""
        return max(min(self.preview_budget // count, self.preview_chars), min(self.least_preview, self.preview_chars))


@dataclass(frozen=True, slots=True)
class NewToolResult:
    """A text that is to be kept beside its message; position is that of the message among those sent with it."""

    position: int
    tool_result_id: str
    tool_id: str
    tool_name: str
    direction: Direction
    content: str
    sha256: bytes
    kind: Kind
    synopsis: str
    preview_chars: int

    @property
    def mime_type(self) -> str:
        return MIME_TYPES[self.kind]


@dataclass(frozen=True, slots=True)
class Externalised:
    """Messages as they are stored, and the texts that are kept beside them."""

    messages: tuple[NewMessage, ...]
    results: tuple[NewToolResult, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    part: int
    direction: Direction
    text: str


def externalise(
    messages: Sequence[NewMessage],
    limits: ToolResultLimits,
    reference_of: ReferenceOf,
    known: Mapping[bytes, str] | None = None,
) -> Externalised:
    """Return the messages with a preview where a tool's text is too large, and those texts.

    known: ids of texts that the session keeps already, by their SHA-256; a text is kept once, whoever gave it.
    """
    ids = dict(known or {})
    kept: list[NewMessage] = []
    results: list[NewToolResult] = []
    for position, message in enumerate(messages):
        chosen = _chosen(list(_candidates(message)), limits) if limits.threshold else {}
        parts = list(message.parts)
        size = limits.preview_size(len(chosen)) if chosen else 0
        for candidate, reason in chosen.items():
            part, result = _taken_out(parts[candidate.part], position, candidate, size, reference_of, ids)
            if result.preview_chars < len(candidate.text):
                parts[candidate.part] = {**part, f"tool_{candidate.direction}_reason": reason.value}
                results.append(result)
        kept.append(_without(message, parts) if chosen else message)
    return Externalised(tuple(kept), tuple(results))


def _without(message: NewMessage, parts: Sequence[Part]) -> NewMessage:
    """Return the message with other parts; a repeat of it is still told by what was sent."""
    sent = message.stored_hash or (body_sha256(message) if message.client_message_id else None)
    return replace(message, parts=tuple(parts), stored_hash=sent)


def reference(session_name: str, tool_result_id: str) -> str:
    """Return the address under which clients read a text again."""
    return f"viking://session/{session_name}/tool-results/{tool_result_id}"


def readdressed(message: NewMessage, session_name: str) -> NewMessage:
    """Return a message that came from another session, its previews pointing to the texts of this one."""
    parts = tuple(_readdressed(part, session_name) for part in message.parts)
    return replace(message, parts=parts) if parts != message.parts else message


def _readdressed(part: Part, session_name: str) -> Part:
    if part.get("type") != "tool":
        return part
    moved = dict(part)
    for direction in Direction:
        old = part.get(f"tool_{direction}_ref")
        found = _REFERENCE.fullmatch(old) if isinstance(old, str) else None
        if isinstance(old, str) and found:
            new = moved[f"tool_{direction}_ref"] = reference(session_name, found[1])
            preview = part.get(f"tool_{direction}")
            if isinstance(preview, str):
                moved[f"tool_{direction}"] = preview.replace(old, new)
    return moved


def tool_result_id(tool_id: str, sha256: bytes) -> str:
    """Return the id under which a text is kept: which tool gave it, as far as that can be written, and what it says."""
    named = _NOT_IN_IDS.sub("_", tool_id)[:LONGEST_TOOL_ID]
    return f"tr_{named}_{sha256.hex()[:16]}" if named else f"tr_{sha256.hex()[:24]}"


def _candidates(message: NewMessage) -> Iterator[_Candidate]:
    for number, part in enumerate(message.parts):
        if part.get("type") == "tool":
            for direction in Direction:
                value = part.get(f"tool_{direction}")
                if value:
                    yield _Candidate(number, direction, full_text(value))


def _chosen(candidates: Sequence[_Candidate], limits: ToolResultLimits) -> dict[_Candidate, Reason]:
    """Return what leaves the message: each text over the threshold, then the largest until the rest fits."""
    chosen = {one: Reason.SINGLE_THRESHOLD for one in candidates if len(one.text) > limits.threshold}
    inline = _inline_chars(candidates, chosen, limits)
    for one in sorted(candidates, key=lambda one: len(one.text), reverse=True):
        if inline < limits.inline_budget:
            break
        if one not in chosen:
            more = {**chosen, one: Reason.TURN_BUDGET}
            smaller = _inline_chars(candidates, more, limits)
            if smaller >= inline:
                break
            chosen, inline = more, smaller
    return chosen


def _inline_chars(
    candidates: Sequence[_Candidate], chosen: Mapping[_Candidate, Reason], limits: ToolResultLimits
) -> int:
    """Return the characters that stay in a message, previews included."""
    previews = len(chosen) * limits.preview_size(len(chosen)) if chosen else 0
    return previews + sum(len(one.text) for one in candidates if one not in chosen)


def _taken_out(
    part: Part, position: int, candidate: _Candidate, size: int, reference_of: ReferenceOf, ids: dict[bytes, str]
) -> tuple[Part, NewToolResult]:
    """Return a part that shows a preview, and the text that it is the preview of."""
    text, direction = candidate.text, candidate.direction
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    tool_id = str(part.get("tool_id") or "")
    identifier = ids.setdefault(sha256, tool_result_id(tool_id, sha256))
    kind = kind_of(text)
    holds = synopsis(text, kind)
    preview: object
    if direction is Direction.OUTPUT:
        preview = output_preview(text, kind, holds, reference_of(identifier), most=size)
    else:
        preview = input_preview(part[f"tool_{direction}"], most=size)
    shown = len(full_text(preview))
    fields = {
        "": preview,
        "_ref": reference_of(identifier),
        "_truncated": True,
        "_original_chars": len(text),
        "_preview_chars": shown,
        "_sha256": sha256.hex(),
        "_mime_type": MIME_TYPES[kind],
    }
    result = NewToolResult(
        position, identifier, tool_id, str(part.get("tool_name") or ""), direction, text, sha256, kind, holds, shown
    )
    return {**part, **{f"tool_{direction}{name}": value for name, value in fields.items()}}, result
