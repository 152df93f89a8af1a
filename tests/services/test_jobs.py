"""What an error means for a job: another attempt after a pause, or the end."""

import pytest

from app.bootstrap import Services
from app.domain.errors import (
    AppError,
    InvalidInput,
    ModelAnswerUnusable,
    ModelPaused,
    ModelRefused,
    ModelUnavailable,
    StaleDocument,
)
from app.domain.jobs import BACKOFF_MAX_SECONDS, Job
from app.domain.scope import Scope
from app.services.jobs import ending
from tests.support.house import commit


def job(attempt: int, most: int = 5) -> Job:
    return Job(account_id=1, id=1, kind="working_memory", epoch=1, attempt=attempt, max_attempts=most)


@pytest.mark.parametrize("error", [ModelRefused("no"), InvalidInput("no")])
def test_a_refusal_is_final_in_the_first_attempt(error: AppError) -> None:
    end = ending(job(1), error, 0.5)
    assert (end.outcome, end.error_class, end.retry_in) == ("failed", error.code, None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ModelUnavailable("down"), "failed"),
        (ModelPaused("left alone", retry_after_seconds=9), "failed"),
        (StaleDocument("moved"), "failed"),
        (ModelAnswerUnusable("prose"), "unusable"),
    ],
)
def test_everything_else_is_tried_again_until_the_attempts_are_spent(error: AppError, outcome: str) -> None:
    for attempt in range(1, 5):
        assert ending(job(attempt), error, 0.5).retry_in is not None
    end = ending(job(5), error, 0.5)
    assert (end.outcome, end.error_class, end.retry_in) == (outcome, error.code, None)


@pytest.mark.parametrize(("asked_for", "pause"), [(None, 2.0), (0.5, 2.0), (47.0, 47.0), (3600.0, BACKOFF_MAX_SECONDS)])
def test_a_service_gets_the_pause_it_asks_for_but_no_endless_one(asked_for: float | None, pause: float) -> None:
    end = ending(job(1), ModelUnavailable("busy", retry_after_seconds=asked_for), 0.5)
    assert end.retry_in is not None
    assert end.retry_in.total_seconds() == pause


def test_pauses_double_and_are_spread() -> None:
    pauses = [ending(job(n, 20), ModelUnavailable("down"), 0.5).retry_in.total_seconds() for n in range(1, 12)]
    assert pauses[:4] == [2, 4, 8, 16]
    assert pauses[-1] == BACKOFF_MAX_SECONDS
    low, high = (ending(job(1), ModelUnavailable("down"), jitter).retry_in.total_seconds() for jitter in (0, 1))
    assert (low, high) == (1.6, 2.4)


async def test_a_job_is_claimed_by_one_worker_and_kept_by_its_heartbeat(services: Services, scope: Scope) -> None:
    await commit(services, scope, "talk", "one")
    (job,) = await services.jobs.claim("a", ["working_memory"], limit=5)
    assert await services.jobs.claim("b", ["working_memory"], limit=5) == []
    (held,) = await services.jobs.heartbeat("a", [job])
    assert (held.id, held.epoch, held.cancel_asked) == (job.id, job.epoch, False)
    assert await services.jobs.heartbeat("b", [job]) == []


async def test_a_claim_takes_no_more_than_it_may_and_only_its_kinds(services: Services, scope: Scope) -> None:
    for number in range(4):
        await commit(services, scope, f"talk-{number}", "one")
    assert await services.jobs.claim("a", ["another_kind"], limit=5) == []
    assert len(await services.jobs.claim("a", ["working_memory"], limit=3)) == 3
    assert sorted(await services.jobs.count()) == [("working_memory", "ready", 1), ("working_memory", "running", 3)]
