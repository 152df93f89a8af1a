"""The working memory rules on plain data, for people who want to see what they do and for checks from outside."""

from collections.abc import Mapping

from app.domain.tokens import TokenCounter
from app.domain.working_memory.answers import read_answer, recover_ops
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import parse_document, render_document
from app.domain.working_memory.incoming import storable_text
from app.domain.working_memory.items import read_items
from app.domain.working_memory.merge import SectionDecision, merge
from app.domain.working_memory.operations import SectionOps, op_document
from app.domain.working_memory.sections import find_section
from app.domain.working_memory.sentinel import without_sentinel
from app.domain.working_memory.sizes import size_warnings

Record = Mapping[str, object]


class _BadRecord(ValueError):
    """A record that a dry run cannot use; the message says what is wrong with it."""


def dry_merge(record: object, count_tokens: TokenCounter) -> dict[str, object]:
    """Merge `sections` into `document`; returns `document`, `decisions` and `deferred`, or `error`."""
    try:
        fields = _fields(record)
        result = merge(
            parse_document(_text(fields, "document")),
            _ops(fields.get("sections")),
            count_tokens=count_tokens,
            deferred=_deferred(fields.get("deferred")),
        )
    except _BadRecord as problem:
        return _error(record, problem)
    return {
        "id": fields.get("id"),
        "document": render_document(result.bodies),
        "decisions": [_decision(decision) for decision in result.decisions],
        "deferred": [
            {"section": item.section.value, "text": item.text, "reason": str(item.reason)} for item in result.deferred
        ],
    }


def dry_recover(record: object) -> dict[str, object]:
    """Read section operations out of the broken answer `raw`; returns `sections`, or `error`."""
    try:
        fields = _fields(record)
        ops = recover_ops(_text(fields, "raw"))
    except _BadRecord as problem:
        return _error(record, problem)
    return {"id": fields.get("id"), "sections": {section.value: op_document(op) for section, op in ops.items()}}


def dry_parse(record: object, count_tokens: TokenCounter) -> dict[str, object]:
    """Split `document`; returns `sections`, `items` by section and size `warnings`, or `error`."""
    try:
        fields = _fields(record)
        bodies = parse_document(_text(fields, "document"))
    except _BadRecord as problem:
        return _error(record, problem)
    return {
        "id": fields.get("id"),
        "sections": {section.value: body for section, body in bodies.items()},
        "items": {section.value: _item_texts(body) for section, body in bodies.items()},
        "warnings": [
            {"section": size.section.value, "bullets": size.bullets, "tokens": size.tokens}
            for size in size_warnings(bodies, count_tokens)
        ],
    }


def _item_texts(body: str) -> list[str]:
    return [item.text for item in read_items(without_sentinel(body)) if item.bullets]


def _fields(record: object) -> Record:
    if not isinstance(record, Mapping):
        raise _BadRecord("the record is not an object")
    return record


def _error(record: object, problem: _BadRecord) -> dict[str, object]:
    return {"id": record.get("id") if isinstance(record, Mapping) else None, "error": str(problem)}


def _text(fields: Record, name: str) -> str:
    value = fields.get(name)
    if value is None and name in fields:
        return ""
    if not isinstance(value, str):
        raise _BadRecord(f"'{name}' is not a text")
    return storable_text(value)


def _ops(sections: object) -> SectionOps:
    if sections is None:
        return {}
    if not isinstance(sections, Mapping | str):
        raise _BadRecord("'sections' is not an object")
    return read_answer(sections).ops


def _deferred(value: object) -> list[DeferredItem]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _BadRecord("'deferred' is not a list")
    return [_deferred_item(item) for item in value]


def _deferred_item(value: object) -> DeferredItem:
    fields = value if isinstance(value, Mapping) else {}
    section, text, reason = (fields.get(name) for name in ("section", "text", "reason"))
    found = find_section(section) if isinstance(section, str) else None
    if found is None or not isinstance(text, str):
        raise _BadRecord("an item of 'deferred' has no known section or no text")
    return DeferredItem(found, storable_text(text), reason if isinstance(reason, str) else "")


def _decision(decision: SectionDecision) -> dict[str, object]:
    return {
        "section": decision.section.value,
        "requested": decision.requested,
        "applied": decision.applied,
        "guard": decision.guard,
        "reason": decision.reason,
    }
