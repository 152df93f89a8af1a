"""Whether a working memory knows what was archived, and what stands in its place while there is none."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from app.domain.archives import Archive, StepOutcome

_FAILED: Final = frozenset({StepOutcome.FAILED, StepOutcome.UNUSABLE, StepOutcome.CANCELLED})
_LEFT_OUT: Final = frozenset({StepOutcome.OFF, StepOutcome.DISCARDED})
_PLACEHOLDER: Final = (
    "No working memory yet: no model answered about {} archived {}. Nothing of them is summarised here; they stay in "
    "the conversation, and the next update takes them in.\n"
)


class Freshness(StrEnum):
    """stale: an archive behind the document failed, and the document stands as it was; pending: one is being worked on.

    none: nothing was to be remembered.
    """

    NONE = "none"
    CURRENT = "current"
    PENDING = "pending"
    STALE = "stale"


def archive_freshness(archive: Archive) -> Freshness:
    """Return what the update of one archive came to."""
    if archive.working_memory in _FAILED:
        return Freshness.STALE
    if archive.working_memory in _LEFT_OUT:
        return Freshness.NONE
    return Freshness.PENDING if archive.working_memory is StepOutcome.OPEN else Freshness.CURRENT


def freshness(newer: Sequence[Archive], *, has_document: bool) -> Freshness:
    """Return how the newest document stands to the archives behind it, all of them where there is no document."""
    found = {archive_freshness(archive) for archive in newer}
    for worst in (Freshness.STALE, Freshness.PENDING):
        if worst in found:
            return worst
    return Freshness.CURRENT if has_document else Freshness.NONE


def placeholder(archives: Sequence[Archive]) -> str:
    """Return the text for a session without a document: for how many messages no model answered; '' for none."""
    count = sum(archive.message_count for archive in archives if archive.working_memory in _FAILED)
    return _PLACEHOLDER.format(count, "message" if count == 1 else "messages") if count else ""
