"""Reading what a model answered, however it was wrapped, quoted or cut."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias, TypeGuard

from app.domain.working_memory.document import parse_document
from app.domain.working_memory.incoming import sanitised_body
from app.domain.working_memory.items import bullet
from app.domain.working_memory.loose_json import LooseObject, LooseText, LooseValue, read_section_values
from app.domain.working_memory.operations import KEEP, Append, Keep, SectionOp, Update, items_of_text, read_op
from app.domain.working_memory.sections import SECTIONS, Section, find_section

_THOUGHT: Final = re.compile(r"<(think|thinking|thought|reasoning|reflection)\b[^>]{0,80}>", re.IGNORECASE)
_FENCE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_WRAPPERS: Final = ("sections", "working_memory", "arguments", "input", "parameters")
_MOST_LAYERS: Final = 4


class AnswerPath(StrEnum):
    """How an answer could be read: the name that goes on the archive."""

    ARGUMENTS = "arguments"
    JSON_TEXT = "json_text"
    FENCED_JSON = "fenced_json"
    RAW_JSON = "raw_json"
    DOCUMENT = "document"
    RECOVERED = "section_recovery"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Answer:
    """The operations found; a section that is missing is kept."""

    ops: dict[Section, SectionOp]
    path: AnswerPath

    @property
    def usable(self) -> bool:
        return bool(self.ops)

    @property
    def truncated(self) -> frozenset[Section]:
        """Return the sections whose text broke off."""
        return frozenset(
            section for section, op in self.ops.items() if isinstance(op, Update | Append) and op.truncated
        )


@dataclass(frozen=True, slots=True)
class CreatedDocument:
    """All seven bodies of a document that a model wrote anew."""

    bodies: dict[Section, str]
    path: AnswerPath


def read_answer(arguments: object) -> Answer:
    """Return the operations in the arguments of a tool call, or in a plain text answer; never raises.

    Takes an object, with or without its wrapper, JSON text, JSON in a code fence or behind a thought, the
    `{"raw": text}` that clients keep for invalid JSON, and text that is not JSON at all.
    """
    for value, path in _decodings(arguments):
        ops = _ops_of(value)
        if ops:
            return Answer(ops, path)
    ops = recover_ops(_text_of(arguments))
    return Answer(ops, AnswerPath.RECOVERED if ops else AnswerPath.UNUSABLE)


def read_created(arguments: object) -> CreatedDocument | None:
    """Return the seven bodies of a creation answer, as arguments or as a Markdown document; None with fewer."""
    for value, path in _decodings(arguments):
        bodies = _bodies_of(value)
        if len(bodies) == len(SECTIONS):
            return CreatedDocument(bodies, path)
    text = _without_thought(_text_of(arguments))
    parsed = {section: sanitised_body(section, body) for section, body in parse_document(text).items()}
    if len(parsed) == len(SECTIONS):
        return CreatedDocument(parsed, AnswerPath.DOCUMENT)
    recovered = {
        section: sanitised_body(section, value.text)
        for section, value in read_section_values(text, objects_only=False)
        if _is_text(value) and not value.cut
    }
    return CreatedDocument(recovered, AnswerPath.RECOVERED) if len(recovered) == len(SECTIONS) else None


def recover_ops(text: str) -> dict[Section, SectionOp]:
    """Return what can still be read section by section from text that is no JSON; {} when nothing can."""
    found: dict[Section, SectionOp] = {}
    for section, value in read_section_values(_without_thought(text), objects_only=True):
        op = _loose_op(value)
        if op is not None:
            found[section] = preferred(found.get(section), op)
    return found


def preferred(earlier: SectionOp | None, later: SectionOp) -> SectionOp:
    """Of two operations for one section take the one that carries more: the last UPDATE, then APPEND, then KEEP."""
    if earlier is None or isinstance(earlier, Keep) or isinstance(later, Update):
        return later
    if isinstance(earlier, Append) and isinstance(later, Append):
        return Append(earlier.items + later.items, earlier.truncated or later.truncated)
    return earlier


def section_of_key(key: object) -> Section | None:
    """Return the section of a JSON key: '&', 'and' or neither, but in the case that the schema prescribes."""
    if not isinstance(key, str) or len(key) > 80:
        return None
    section = find_section(key)
    if section is None:
        return None
    given = [word for word in key.replace("&", " ").split() if word != "and"]
    return section if given == section.value.replace("&", " ").split() else None


class _Pairs(dict[str, object]):
    """A JSON object that remembers repeated keys."""

    def __init__(self, pairs: Iterable[tuple[str, object]]) -> None:
        self.all = list(pairs)
        super().__init__(self.all)


def _items_of(value: Mapping[object, object]) -> list[tuple[object, object]]:
    return list(value.all) if isinstance(value, _Pairs) else list(value.items())


_Decoding: TypeAlias = tuple[object, AnswerPath]


def _decodings(arguments: object) -> Iterable[_Decoding]:
    if isinstance(arguments, Mapping):
        yield from _unwrapped(arguments, AnswerPath.ARGUMENTS)
    elif isinstance(arguments, str):
        for value, path in _text_decodings(arguments):
            yield from _unwrapped(value, path)
    elif isinstance(arguments, list | tuple):
        yield from ((value, AnswerPath.ARGUMENTS) for value in arguments[:_MOST_LAYERS])


def _unwrapped(value: object, path: AnswerPath) -> Iterable[_Decoding]:
    raw = _raw_text(value)
    if raw is None:
        yield value, path
    else:
        yield from ((inner, AnswerPath.RAW_JSON) for inner, _ in _text_decodings(raw))


def _raw_text(value: object) -> str | None:
    """Return the text in `{"raw": text}`, where clients keep what was no JSON to them; None for anything else."""
    raw = value.get("raw") if isinstance(value, Mapping) and len(value) == 1 else None
    return raw if isinstance(raw, str) else None


def _text_decodings(text: str) -> Iterable[_Decoding]:
    plain = _without_thought(text).strip()
    value = _json(plain)
    if value is not None:
        yield value, AnswerPath.JSON_TEXT
        return
    inner = _inside_fence(plain)
    value = _json(inner) if inner else None
    if value is not None:
        yield value, AnswerPath.FENCED_JSON
        return
    start, end = plain.find("{"), plain.rfind("}")
    value = _json(plain[start : end + 1]) if 0 <= start < end else None
    if value is not None:
        yield value, AnswerPath.JSON_TEXT


def _json(text: str) -> object:
    try:
        return json.loads(text, strict=False, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None


def _without_thought(text: str) -> str:
    """Cut a thought before the answer, with or without its opening tag; a thought that never ends stays."""
    opening = _THOUGHT.search(text)
    brace = text.find("{")
    if opening and (brace < 0 or opening.start() < brace):
        end = text.rfind(f"</{opening.group(1)}>")
        return text[end + len(opening.group(1)) + 3 :] if end > opening.start() else text
    end = text.find("</think>")
    return text[end + len("</think>") :] if end >= 0 and (brace < 0 or end < brace) else text


def _inside_fence(text: str) -> str:
    marks = list(_FENCE.finditer(text))
    return text[marks[0].end() : marks[-1].start()].strip() if len(marks) > 1 else ""


def _text_of(arguments: object) -> str:
    """Return the text that a recovery can search."""
    if isinstance(arguments, str):
        return _raw_text(_json(arguments.strip())) or arguments
    raw = _raw_text(arguments)
    if raw is not None:
        return raw
    try:
        return json.dumps(arguments, ensure_ascii=False, skipkeys=True, default=str)
    except (ValueError, RecursionError, TypeError):
        return ""


def _ops_of(value: object, layer: int = 0) -> dict[Section, SectionOp]:
    """Look for operations in the value, then in its wrappers; text in a wrapper's place is decoded once more."""
    if layer > _MOST_LAYERS:
        return {}
    if isinstance(value, str):
        decoded = next(iter(_text_decodings(value)), None)
        return _ops_of(decoded[0], layer + 1) if decoded else recover_ops(value)
    if isinstance(value, list):
        return next(filter(None, (_ops_of(part, layer + 1) for part in value[:_MOST_LAYERS])), {})
    if not isinstance(value, Mapping):
        return {}
    ops: dict[Section, SectionOp] = {}
    for key, part in _items_of(value):
        section = section_of_key(key)
        op = read_op(part) if section else None
        if section and op is not None:
            ops[section] = preferred(ops.get(section), op)
    wrapped = (_ops_of(value[name], layer + 1) for name in _WRAPPERS if name in value)
    return ops or next(filter(None, wrapped), {})


def _bodies_of(value: object, layer: int = 0) -> dict[Section, str]:
    if layer > _MOST_LAYERS:
        return {}
    if isinstance(value, str):
        decoded = next(iter(_text_decodings(value)), None)
        return _bodies_of(decoded[0], layer + 1) if decoded else {}
    if not isinstance(value, Mapping):
        return {}
    bodies: dict[Section, str] = {}
    for key, part in _items_of(value):
        section = section_of_key(key)
        text = _body_text(part)
        if section and text is not None:
            bodies[section] = sanitised_body(section, text)
    wrapped = (_bodies_of(value[name], layer + 1) for name in _WRAPPERS if name in value)
    return bodies or next(filter(None, wrapped), {})


def _body_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(bullet(item) for item in value if isinstance(item, str) and item.strip())
    if isinstance(value, Mapping):
        content = value.get("content")
        return content if isinstance(content, str) else None
    return None


def _is_text(value: "LooseValue | None") -> TypeGuard[LooseText]:
    """Tell whether a value is a quoted string; a bare word may be a number or null."""
    return isinstance(value, LooseText) and not value.bare


def _loose_op(value: LooseValue) -> SectionOp | None:
    if not isinstance(value, LooseObject):
        return None
    name = value.last("op")
    match name.text.upper() if isinstance(name, LooseText) else "":
        case "KEEP":
            return KEEP
        case "UPDATE":
            content = value.last("content")
            return Update(content.text, content.cut) if _is_text(content) else None
        case "APPEND":
            return _loose_append(value)
        case _:
            return None


def _loose_append(value: LooseObject) -> Append:
    items = value.last("items")
    if not items:
        items = value.last("content")
    if _is_text(items):
        return Append(items_of_text(items.text), items.cut)
    if not isinstance(items, tuple):
        return Append(())
    texts = [item for item in items if _is_text(item) and item.text.strip()]
    return Append(tuple(item.text for item in texts), any(item.cut for item in texts))
