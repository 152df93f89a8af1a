"""What the document did not take, or gave up: kept beside it until the section has it again."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.working_memory.sections import Section


class DeferralReason(StrEnum):
    """Why an item is not in the document."""

    THROTTLED = "throttled"
    CONSOLIDATION_REQUIRED = "consolidation_required"
    CONSOLIDATED_AWAY = "consolidated_away"
    REWORDED = "reworded"
    DROPPED_TWICE = "dropped_twice"


@dataclass(frozen=True, slots=True)
class DeferredItem:
    """One item that waits outside the document."""

    section: Section
    text: str
    reason: str
