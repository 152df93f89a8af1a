"""Applying a model's operations to the seven sections."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.tokens import TokenCounter
from app.domain.working_memory.containment import find_containing
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.guards.errors import guard_errors
from app.domain.working_memory.guards.files import guard_files
from app.domain.working_memory.guards.issues import guard_issues
from app.domain.working_memory.guards.key_facts import guard_key_facts
from app.domain.working_memory.guards.repeats import guard_repeats
from app.domain.working_memory.guards.title import guard_title
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict
from app.domain.working_memory.incoming import appended, sanitised_op
from app.domain.working_memory.items import key_of, read_items
from app.domain.working_memory.operations import KEEP, Append, Keep, SectionOp, SectionOps, Update, read_op
from app.domain.working_memory.sections import SECTIONS, Bodies, Section


@dataclass(frozen=True, slots=True)
class SectionDecision:
    """What was asked for a section and what was done.

    guard is the rule that changed the request, '' when none did; reason is its stable short name. repeats are
    appended items that only say again what the section has.
    """

    section: Section
    requested: str
    applied: str
    guard: str
    reason: str
    changed: bool
    repeats: tuple[str, ...] = ()


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

    deferred is what the last merge gave out. What the document now has leaves it, what it refuses or gives up joins.
    """
    before = {section: (current or {}).get(section, "") for section in SECTIONS}
    bodies: dict[Section, str] = {}
    decisions: list[SectionDecision] = []
    pool = list(deferred)
    for section in SECTIONS:
        requested = requested_op(ops, section)
        verdict = judge(section, requested, before[section], count_tokens, deferred)
        bodies[section] = applied(before[section], verdict.op)
        pool = [item for item in pool if item not in verdict.settled] + list(verdict.deferred)
        decisions.append(_decision(section, requested, verdict, changed=bodies[section] != before[section]))
    return MergeResult(bodies, tuple(decisions), still_waiting(pool, bodies))


def requested_op(ops: object, section: Section) -> SectionOp:
    """Return the operation asked for a section; anything that is none is KEEP."""
    return (read_op(ops.get(section)) if isinstance(ops, Mapping) else None) or KEEP


def judge(
    section: Section,
    requested: SectionOp,
    old: str,
    count_tokens: TokenCounter,
    deferred: Sequence[DeferredItem] = (),
) -> Verdict:
    """Return what the rules of the section make of a request, its texts made safe to store."""
    op = sanitised_op(section, requested)
    if isinstance(op, Keep):
        return Verdict(KEEP)
    if isinstance(op, Update) and not op.content:
        return Verdict(KEEP, Guard.NOT_EMPTY, Reason.NO_TEXT)
    if isinstance(op, Update) and not old.strip():
        return Verdict(op)
    return _by_section(section, op, old, count_tokens, deferred)


def _by_section(
    section: Section, op: Update | Append, old: str, count_tokens: TokenCounter, deferred: Sequence[DeferredItem]
) -> Verdict:
    match section:
        case Section.SESSION_TITLE:
            return guard_title(op, old)
        case Section.KEY_FACTS:
            return guard_key_facts(op, old, count_tokens)
        case Section.FILES_AND_CONTEXT:
            return guard_files(op, old)
        case Section.ERRORS_AND_CORRECTIONS:
            return guard_errors(op, old)
        case Section.OPEN_ISSUES:
            waiting = [item for item in deferred if item.section is Section.OPEN_ISSUES]
            return guard_issues(op, old, waiting)
        case _:
            return _guard_free(op, old)


def _guard_free(op: Update | Append, old: str) -> Verdict:
    """Sections that may be rewritten take all but the rest of an answer that broke off early."""
    if isinstance(op, Append):
        return guard_repeats(op, old)
    if op.truncated and 2 * len(op.content) < len(old.strip()):
        return Verdict(KEEP, Guard.TRUNCATION, Reason.TOO_SHORT_A_REST)
    return Verdict(op)


def applied(body: str, op: SectionOp) -> str:
    """Return the body after an operation that was already judged."""
    match op:
        case Keep():
            return body
        case Update(content=content):
            return content
        case Append(items=items):
            return appended(body, items)


def _decision(section: Section, requested: SectionOp, verdict: Verdict, *, changed: bool) -> SectionDecision:
    return SectionDecision(
        section, requested.name, verdict.op.name, verdict.guard.value, verdict.reason.value, changed, verdict.repeats
    )


def still_waiting(pool: Iterable[DeferredItem], bodies: Bodies) -> tuple[DeferredItem, ...]:
    """Return the items that their section does not contain, each once, in the order they came."""
    keys: dict[Section, dict[str, DeferredItem]] = defaultdict(dict)
    order: dict[tuple[Section, str], DeferredItem] = {}
    for item in pool:
        key = key_of(item.text)
        if key and key not in keys[item.section]:
            keys[item.section][key] = item
            order[item.section, key] = item
    for section, waiting in keys.items():
        needles = list(waiting)
        said = [item.key for item in read_items(bodies.get(section, ""))]
        for index in find_containing(needles, said):
            del order[section, needles[index]]
    return tuple(order.values())
