"""What a guard decides."""

from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.operations import KEEP, Append, SectionOp


class Guard(StrEnum):
    """The rules by name; NONE when nothing was changed by one."""

    NONE = ""
    NOT_EMPTY = "not_empty"
    TRUNCATION = "truncation"
    TITLE_STABILITY = "title_stability"
    CONSOLIDATION = "key_facts_consolidation"
    ANTI_BLOAT = "key_facts_anti_bloat"
    FILES_NO_REGRESSION = "files_no_regression"
    APPEND_ONLY = "append_only"
    OPEN_ISSUES = "open_issues"
    NO_REPEATS = "no_repeats"


class Reason(StrEnum):
    """Why a guard stepped in; NONE when the request went through as it was."""

    NONE = ""
    NO_TEXT = "no_text"
    TOO_SHORT_A_REST = "truncated_to_less_than_half"
    NO_COMMON_WORD = "no_common_word"
    TITLE_IS_ONE_LINE = "title_is_one_line"
    TOO_FEW_BULLETS = "too_few_bullets"
    ANCHORS_LOST = "anchors_lost"
    THROTTLED = "throttled"
    CONSOLIDATION_REQUIRED = "consolidation_required"
    CONSOLIDATED = "consolidated"
    REFERENCES_LOST = "references_lost"
    ONLY_ADDITIONS = "only_additions"
    ISSUES_RESTORED = "issues_restored"
    ISSUES_DROPPED_TWICE = "issues_dropped_twice"
    ALL_KNOWN = "all_known"
    SOME_KNOWN = "some_known"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The operation to apply, the rule that changed the request, and what waits outside the document from now on.

    repeats are appended items that only say again what the section has; the next consolidation may drop them.
    settled are deferred issues that the new text resolves.
    """

    op: SectionOp
    guard: Guard = Guard.NONE
    reason: Reason = Reason.NONE
    deferred: tuple[DeferredItem, ...] = ()
    repeats: tuple[str, ...] = ()
    settled: tuple[DeferredItem, ...] = ()


def append_or_keep(items: tuple[str, ...], verdict: Verdict) -> Verdict:
    """Return the verdict with an APPEND of the items, with KEEP when there are none."""
    return replace(verdict, op=Append(items) if items else KEEP)
