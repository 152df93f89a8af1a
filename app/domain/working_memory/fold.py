"""Merging several answers in a row, as if they had been one."""

from collections.abc import Sequence
from dataclasses import replace

from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.merge import MergeResult, SectionDecision, merge
from app.domain.working_memory.operations import SectionOps
from app.domain.working_memory.sections import SECTIONS, Bodies

_WEIGHT = {"KEEP": 0, "APPEND": 1, "UPDATE": 2}


def fold(
    current: Bodies | None,
    answers: Sequence[SectionOps],
    *,
    count_tokens: TokenCounter,
    deferred: Sequence[DeferredItem] = (),
) -> MergeResult:
    """Return the document after all answers, each merged and guarded in its turn. Total, like `merge`.

    A section's decision tells the strongest operation (UPDATE before APPEND before KEEP) and the last guard that spoke;
    changed compares the end with the beginning.
    """
    before = {section: (current or {}).get(section, "") for section in SECTIONS}
    result = merge(current, {}, count_tokens=count_tokens, deferred=deferred)
    for position, ops in enumerate(answers):
        following = merge(
            current if position == 0 else result.bodies, ops, count_tokens=count_tokens, deferred=result.deferred
        )
        decisions = following.decisions
        if position:
            pairs = zip(result.decisions, following.decisions, strict=True)
            decisions = tuple(_combined(earlier, later) for earlier, later in pairs)
        result = replace(following, decisions=decisions)
    return replace(
        result,
        decisions=tuple(
            replace(decision, changed=result.bodies[decision.section] != before[decision.section])
            for decision in result.decisions
        ),
    )


def _combined(earlier: SectionDecision, later: SectionDecision) -> SectionDecision:
    speaking = later if later.guard or not earlier.guard else earlier
    return SectionDecision(
        section=later.section,
        requested=max(earlier.requested, later.requested, key=lambda name: _WEIGHT.get(name, 0)),
        applied=max(earlier.applied, later.applied, key=lambda name: _WEIGHT.get(name, 0)),
        guard=speaking.guard,
        reason=speaking.reason,
        changed=earlier.changed or later.changed,
        repeats=earlier.repeats + later.repeats,
    )
