"""Which messages a context is made of: those that the newest document does not cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.archives import Archive, StepOutcome

LEFT_OUT: Final = frozenset({StepOutcome.OFF, StepOutcome.DISCARDED})
"""What an archive came to whose messages were left out on purpose."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """Up to where memory is current: messages after covered_through_seq are in no document yet."""

    covered_through_seq: int
    last_seq: int
    pending_archives: int


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Runs of messages by their first and last seq, the oldest first.

    anchor_seq: the archived question of a turn that goes on among the live messages; it is shown though it is covered.
    """

    runs: tuple[range, ...]
    anchor_seq: int | None = None

    @property
    def total(self) -> int:
        """Return the number of messages."""
        return sum(map(len, self.runs)) + (self.anchor_seq is not None)

    def __contains__(self, seq: int) -> bool:
        return seq == self.anchor_seq or any(seq in run for run in self.runs)


def uncovered(
    covered_through: int, last_seq: int, newer: Sequence[Archive], anchor_seq: int | None = None
) -> Uncovered:
    """Return what a context is made of. newer: the archives behind the newest document, in order."""
    runs, first = [], covered_through + 1
    for archive in newer:
        if archive.working_memory in LEFT_OUT:
            runs.append(range(first, archive.first_seq))
            first = archive.last_seq + 1
    runs.append(range(first, last_seq + 1))
    kept = tuple(run for run in runs if run)
    shown_anyway = any(anchor_seq in run for run in kept)
    return Uncovered(kept, None if shown_anyway else anchor_seq)
