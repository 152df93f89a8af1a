"""Key facts grow slowly and are only consolidated without loss."""

from collections.abc import Iterable
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.coverage import Saying, coverage, unknown_items, without_place
from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.guards.repeats import fresh_items
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict, append_or_keep
from app.domain.working_memory.items import Item, read_items
from app.domain.working_memory.operations import KEEP, Append, Update
from app.domain.working_memory.sections import Section
from app.domain.working_memory.sentinel import SENTINEL, has_sentinel, without_sentinel
from app.domain.working_memory.sizes import Size, size_of

APPEND_CAP: Final = 5
LEAST_BULLETS_PERCENT: Final = 15
LEAST_COVERAGE_PERCENT: Final = 70


def guard_key_facts(op: Update | Append, old: str, count_tokens: TokenCounter) -> Verdict:
    """Cap what an oversized section takes, stop at twice the limits, and refuse a rewrite that loses too much.

    Nothing that was offered or held is lost: what the document does not take, or gives up, is deferred.
    """
    items = read_items(without_sentinel(old))
    size = size_of(Section.KEY_FACTS, old, count_tokens)
    if isinstance(op, Append):
        return _guard_append(op, old, items, size)
    return _guard_update(op, items, size)


def _deferred(items: Iterable[Item], reason: DeferralReason) -> tuple[DeferredItem, ...]:
    return tuple(DeferredItem(Section.KEY_FACTS, item.text, reason.value) for item in items)


def _guard_append(op: Append, old: str, known: list[Item], size: Size) -> Verdict:
    fresh, guard, reason = fresh_items(op, known)
    if not fresh:
        return Verdict(KEEP, guard, reason)
    if size.is_emergency:
        return Verdict(
            KEEP if has_sentinel(old) else Append((SENTINEL,)),
            Guard.ANTI_BLOAT,
            Reason.CONSOLIDATION_REQUIRED,
            _deferred(fresh, DeferralReason.CONSOLIDATION_REQUIRED),
        )
    if size.is_oversized and len(fresh) > APPEND_CAP:
        guard, reason = Guard.ANTI_BLOAT, Reason.THROTTLED
    return _capped(fresh, size, Verdict(op, guard, reason))


def _capped(fresh: list[Item], size: Size, verdict: Verdict) -> Verdict:
    taken = fresh[:APPEND_CAP] if size.is_oversized else fresh
    late = _deferred(fresh[len(taken) :], DeferralReason.THROTTLED)
    capped = Verdict(verdict.op, verdict.guard, verdict.reason, late, verdict.repeats)
    return append_or_keep(tuple(item.text for item in taken), capped)


def _guard_update(op: Update, old: list[Item], size: Size) -> Verdict:
    new = read_items(op.content)
    saying = Saying(op.content)
    reason = _refusal(old, new, saying)
    if reason is None:
        return _accepted(op, old, new, saying)
    fresh = unknown_items(new, old)
    if size.is_emergency:
        late = _deferred(fresh, DeferralReason.CONSOLIDATION_REQUIRED)
        return Verdict(KEEP, Guard.CONSOLIDATION, reason, late)
    held = Saying("\n".join(item.said for item in old))
    repeats = tuple(item.text for item in fresh if held.half_covers(item))
    return _capped(fresh, size, Verdict(op, Guard.CONSOLIDATION, reason, repeats=repeats))


def _refusal(old: list[Item], new: list[Item], saying: Saying) -> Reason | None:
    old_bullets = sum(item.bullets for item in old)
    new_bullets = sum(item.bullets for item in new)
    if not old_bullets:
        return None
    if new_bullets * 100 < old_bullets * LEAST_BULLETS_PERCENT:
        return Reason.TOO_FEW_BULLETS
    return Reason.ANCHORS_LOST if coverage(old, saying).is_below(LEAST_COVERAGE_PERCENT) else None


def _accepted(op: Update, old: list[Item], new: list[Item], saying: Saying) -> Verdict:
    gone = without_place(old, new)
    lost = [item for item in gone if not saying.half_covers(item)]
    reworded = [item for item in gone if saying.half_covers(item)]
    deferred = _deferred(lost, DeferralReason.CONSOLIDATED_AWAY) + _deferred(reworded, DeferralReason.REWORDED)
    return Verdict(
        op, Guard.CONSOLIDATION if gone else Guard.NONE, Reason.CONSOLIDATED if gone else Reason.NONE, deferred
    )
