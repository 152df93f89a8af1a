"""Applying a model's operations to the seven sections."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.incoming import appended, sanitised_op
from app.domain.working_memory.operations import KEEP, Append, Keep, SectionOp, SectionOps, Update, read_op
from app.domain.working_memory.sections import SECTIONS, Bodies, Section


@dataclass(frozen=True, slots=True)
class SectionDecision:
    """What was asked for a section and what was done.

    guard is the rule that changed the request, '' when none did; reason is its stable short name.
    """

    section: Section
    requested: str
    applied: str
    guard: str
    reason: str
    changed: bool


@dataclass(frozen=True, slots=True)
class MergeResult:
    """All seven bodies, one decision per section in their order, and everything that waits outside the document."""

    bodies: dict[Section, str]
    decisions: tuple[SectionDecision, ...]
    deferred: tuple[DeferredItem, ...]


def merge(
    current: Bodies | None,
    ops: SectionOps,
    *,
    count_tokens: TokenCounter,
    deferred: Sequence[DeferredItem] = (),
) -> MergeResult:
    """Return the document after the operations; missing and unknown ones keep their section. Never raises.

    deferred is what the last merge gave out; what the document now has leaves it.
    """
    del count_tokens
    before = {section: (current or {}).get(section, "") for section in SECTIONS}
    bodies: dict[Section, str] = {}
    decisions: list[SectionDecision] = []
    for section in SECTIONS:
        requested = read_op(ops.get(section)) or KEEP
        applied = sanitised_op(section, requested)
        bodies[section] = _applied(before[section], applied)
        changed = bodies[section] != before[section]
        decisions.append(SectionDecision(section, requested.name, applied.name, "", "", changed))
    return MergeResult(bodies, tuple(decisions), tuple(deferred))


def _applied(body: str, op: SectionOp) -> str:
    match op:
        case Keep():
            return body
        case Update(content=content):
            return content or body
        case Append(items=items):
            return appended(body, items)
