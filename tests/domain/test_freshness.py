"""When a working memory is stale, and what stands in for a missing one."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from app.domain.archives import Archive, StepOutcome
from app.domain.freshness import Freshness, archive_freshness, freshness, placeholder

NOW = datetime(2031, 4, 9, tzinfo=UTC)
ARCHIVE = Archive(
    session_id=1, archive_no=1, task_id=UUID(int=1), first_seq=1, last_seq=3, tokens=30, trigger="request",
    status="completed", outcome="applied", working_memory=StepOutcome.APPLIED, long_term_memory=StepOutcome.OFF,
    embedding="off", abstract="", has_document=False, document_revision=0, document_source=None,
    document_provider=None, covers_from_seq=None, created_at=NOW, started_at=None, finished_at=None,
)  # fmt: skip
STALE = {StepOutcome.FAILED, StepOutcome.UNUSABLE, StepOutcome.CANCELLED}


def archives(*outcomes: StepOutcome) -> list[Archive]:
    return [replace(ARCHIVE, working_memory=outcome) for outcome in outcomes]


@pytest.mark.parametrize("outcome", StepOutcome)
def test_every_outcome_has_its_freshness(outcome: StepOutcome) -> None:
    (archive,) = archives(outcome)
    assert (archive_freshness(archive) is Freshness.STALE) == (outcome in STALE)


@pytest.mark.parametrize(
    ("newer", "has_document", "expected"),
    [
        ((), True, Freshness.CURRENT),
        ((), False, Freshness.NONE),
        ((StepOutcome.OPEN,), True, Freshness.PENDING),
        ((StepOutcome.OPEN, StepOutcome.FAILED), True, Freshness.STALE),
        ((StepOutcome.UNUSABLE, StepOutcome.OPEN), False, Freshness.STALE),
        ((StepOutcome.OFF, StepOutcome.DISCARDED), True, Freshness.CURRENT),
        ((StepOutcome.OFF,), False, Freshness.NONE),
    ],
)
def test_one_failure_behind_the_document_makes_it_stale(
    newer: tuple[StepOutcome, ...], has_document: bool, expected: Freshness
) -> None:
    assert freshness(archives(*newer), has_document=has_document) is expected


def test_the_placeholder_counts_the_messages_no_model_answered_about() -> None:
    assert placeholder([]) == placeholder(archives(StepOutcome.OPEN, StepOutcome.OFF)) == ""
    assert "about 6 archived messages" in placeholder(archives(StepOutcome.FAILED, StepOutcome.UNUSABLE))
    single = replace(ARCHIVE, working_memory=StepOutcome.FAILED, last_seq=1)
    assert "about 1 archived message." in placeholder([single])
