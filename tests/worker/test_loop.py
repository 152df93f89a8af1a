"""A worker runs jobs to their end: in order, once, through failures of models, workers and the database."""

import asyncio

import psycopg
import pytest
from structlog.testing import capture_logs

from app.bootstrap import Services
from app.domain.archives import StepOutcome
from app.domain.scope import Scope
from app.domain.tasks import TaskStatus
from app.domain.working_memory.sections import SECTIONS
from app.providers.ports import ToolRequest
from tests.support.fake_model import REFUSED, UNAVAILABLE, UNUSABLE, FakeModel, Gate
from tests.support.house import commit, ended, tell, working
from tests.support.job_rows import end_the_pause, job, job_is
from tests.worker.conftest import OpenHouse


async def test_a_commit_becomes_a_document_of_seven_sections(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    first = await commit(services, scope, "talk", "we meet on Monday", "bring the map")
    async with working(services):
        task = await ended(services, scope, first)
        assert (task.status, task.archive.outcome) == (TaskStatus.COMPLETED, "applied")
        second = await ended(services, scope, await commit(services, scope, "talk", "make it Tuesday"))
    assert (second.archive.covers_from_seq, second.archive.working_memory) == (3, StepOutcome.APPLIED)
    rows = superuser.execute("""
        SELECT archive_no, section, requested_op, applied_op, changed, tokens, tokens_before
          FROM cairn.working_memory_sections ORDER BY archive_no, section
    """).fetchall()
    assert [(row.archive_no, row.section) for row in rows] == [(n, s) for n in (1, 2) for s in range(1, 8)]
    assert {(row.requested_op, row.applied_op, row.changed) for row in rows[:7]} == {("UPDATE", "UPDATE", True)}
    assert [row.requested_op for row in rows[7:]] == ["KEEP", "UPDATE", "KEEP", "APPEND", "KEEP", "KEEP", "KEEP"]
    assert [row.changed for row in rows[7:]] == [False, True, False, True, False, False, False]
    assert [row.tokens_before for row in rows[7:]] == [row.tokens for row in rows[:7]]
    current = await services.working_memory.current(scope, "talk")
    assert current.document is not None
    assert list(current.document.bodies) == list(SECTIONS)
    assert "make it Tuesday" in "\n".join(current.document.bodies.values())
    assert second.archive.abstract.startswith("Session Title: bring the map")
    calls = superuser.execute("SELECT purpose, provider, model, transport, outcome, input_tokens, output_tokens,"
                              " archive_no FROM cairn.model_calls ORDER BY id").fetchall()  # fmt: skip
    assert calls == [("working_memory", "fake", "fake-1", "forced_tool", "usable", 100, 20, n) for n in (1, 2)]


async def test_an_archive_is_completed_only_by_its_last_step(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    gate = Gate()
    model.turns.append(gate)
    task_id = await commit(services, scope, "talk", "hello")
    assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.PENDING
    async with working(services):
        await gate.reached.wait()
        running = await services.tasks.get(scope, str(task_id))
        assert (running.status, running.archive.outcome) == (TaskStatus.RUNNING, None)
        superuser.execute("UPDATE cairn.archives SET long_term_memory = 'open'")  # another step that is not done yet
        gate.opened.set()
        await job_is(superuser, "done", 1)
    assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.RUNNING
    superuser.execute("UPDATE cairn.archives SET long_term_memory = 'applied'")
    assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.COMPLETED


async def test_a_model_that_is_down_is_asked_again_after_a_pause(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    model.turns.append(UNAVAILABLE)
    task_id = await commit(services, scope, "talk", "hello")
    async with working(services):
        await job_is(superuser, "ready", 1)
        waiting = job(superuser)
        (pause,) = superuser.execute("SELECT extract(epoch FROM run_at - now()) FROM cairn.jobs").fetchone()
        assert 0.5 < pause < 2.5
        assert (waiting.error_class, waiting.worker, waiting.outcome) == ("MODEL_UNAVAILABLE", None, None)
        assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.RUNNING
        end_the_pause(superuser)
        task = await ended(services, scope, task_id)
    assert (task.status, job(superuser).attempts) == (TaskStatus.COMPLETED, 2)
    calls = superuser.execute("SELECT outcome, error_class FROM cairn.model_calls ORDER BY id").fetchall()
    assert calls == [("failed", "MODEL_UNAVAILABLE"), ("usable", None)]


async def test_a_refusal_ends_the_step_at_once(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    model.turns.append(REFUSED)
    async with working(services):
        task = await ended(services, scope, await commit(services, scope, "talk", "hello"))
    assert (task.status, task.archive.outcome) == (TaskStatus.FAILED, "failed")
    assert task.error == "working_memory: The fake model refuses."
    assert (job(superuser).attempts, model.asked) == (1, 1)


async def test_answers_nobody_can_use_end_the_step_as_unusable(
    open_house: OpenHouse, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    model.otherwise = UNUSABLE
    async with open_house(max_attempts=2) as services, working(services):
        task_id = await commit(services, scope, "talk", "hello")
        await job_is(superuser, "ready", 1)
        end_the_pause(superuser)
        task = await ended(services, scope, task_id)
    assert (task.status, task.archive.outcome) == (TaskStatus.FAILED, "unusable")
    assert task.archive.working_memory is StepOutcome.UNUSABLE
    answers = superuser.execute("SELECT attempt, usable, content FROM cairn.model_answers ORDER BY id").fetchall()
    assert answers == [(1, False, UNUSABLE), (2, False, UNUSABLE)]


async def test_a_failed_archive_stays_in_the_context_and_is_covered_by_the_next(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one"))
        model.turns.append(REFUSED)
        failed_id = await commit(services, scope, "talk", "two", "three")
        failed = await ended(services, scope, failed_id)
        await tell(services, scope, "talk", "four")
        context = await services.context.assemble(scope, "talk", 10_000)
        assert [message.seq for message in context.fitted.messages] == [2, 3, 4]
        assert (context.failed_archives, context.document_archive_no) == (1, 1)
        next_one = await ended(services, scope, await commit(services, scope, "talk"))
    assert [message.seq for message in model.requests[-1].source.messages] == [2, 3, 4]
    assert next_one.archive.covers_from_seq == 2
    covered = await services.tasks.get(scope, str(failed_id))
    assert (failed.status, covered.status) == (TaskStatus.FAILED, TaskStatus.COMPLETED)
    assert covered.archive.working_memory is StepOutcome.COVERED
    context = await services.context.assemble(scope, "talk", 10_000)
    assert context.fitted.messages == ()
    assert context.watermark.covered_through_seq == 4
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def test_a_model_that_is_down_for_good_leaves_the_document_as_it_was(
    open_house: OpenHouse, scope: Scope, model: FakeModel
) -> None:
    async with open_house(max_attempts=1) as services, working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one"))
        before = (await services.working_memory.current(scope, "talk")).document
        model.otherwise = UNAVAILABLE
        task = await ended(services, scope, await commit(services, scope, "talk", "two"))
        assert (task.status, task.archive.outcome) == (TaskStatus.FAILED, "failed")
        assert (await services.working_memory.current(scope, "talk")).document == before is not None


async def test_cancelling_what_waits_ends_it_at_once(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    first, second = [await commit(services, scope, "talk", text) for text in ("one", "two")]
    assert (await services.tasks.cancel(scope, str(first))).status is TaskStatus.CANCELLED
    async with working(services):
        task = await ended(services, scope, second)
    assert (task.status, task.archive.covers_from_seq, model.asked) == (TaskStatus.COMPLETED, 1, 1)
    assert (await services.tasks.get(scope, str(first))).archive.working_memory is StepOutcome.COVERED


async def test_cancelling_what_runs_stops_it_and_writes_nothing(
    services: Services,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    repetition: int,
) -> None:
    gate = Gate()
    model.turns.append(gate)
    task_id = await commit(services, scope, "talk", "hello")
    async with working(services):
        await gate.reached.wait()
        assert (await services.tasks.cancel(scope, str(task_id))).status is TaskStatus.CANCELLING
        task = await ended(services, scope, task_id)
    assert (task.status, model.asked) == (TaskStatus.CANCELLED, 1)
    assert superuser.execute("SELECT * FROM cairn.working_memory_sections").fetchall() == []
    context = await services.context.assemble(scope, "talk", 1_000)
    assert [message.seq for message in context.fitted.messages] == [1]


async def test_a_job_that_fails_after_it_was_asked_to_stop_is_not_tried_again(services: Services, scope: Scope) -> None:
    task_id = await commit(services, scope, "talk", "hello")
    (claimed,) = await services.jobs.claim("slow", ["working_memory"], limit=1)
    await services.tasks.cancel(scope, str(task_id))
    await services.jobs.give_up(claimed, UNAVAILABLE)
    assert (await services.tasks.get(scope, str(task_id))).status is TaskStatus.CANCELLED


async def test_no_transaction_is_open_while_the_model_thinks(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    gate = Gate()
    model.turns.append(gate)
    async with working(services):
        task_id = await commit(services, scope, "talk", "hello")
        await gate.reached.wait()
        open_ones = superuser.execute(
            "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL"
            " AND pid <> pg_backend_pid() AND usename = 'cairn_test_app'"
        ).fetchall()
        await tell(services, scope, "talk", "still talking")
        gate.opened.set()
        await ended(services, scope, task_id)
    assert open_ones == []


@pytest.mark.parametrize("backoff", [False, True])
async def test_sessions_are_strictly_in_order_and_do_not_hold_each_other_up(
    services: Services, open_house: OpenHouse, scope: Scope, superuser: psycopg.Connection, model: FakeModel,
    backoff: bool,
) -> None:  # fmt: skip
    gate = Gate()
    model.turns.append(UNAVAILABLE if backoff else gate)
    tasks = [await commit(services, scope, "talk", text) for text in ("one", "two", "three")]
    async with open_house() as elsewhere, working(services, "here"), working(elsewhere, "there"):
        await job_is(superuser, "ready" if backoff else "running", 1)
        if not backoff:
            await gate.reached.wait()  # a running job need not have asked yet, and the gate is for the first who asks
        await ended(services, scope, await commit(services, scope, "chat", "other"))
        assert [job(superuser, "talk", n).state for n in (2, 3)] == ["waiting", "waiting"]
        gate.opened.set()
        end_the_pause(superuser)
        ends = [await ended(services, scope, task_id) for task_id in tasks]
    assert [task.status for task in ends] == [TaskStatus.COMPLETED] * 3
    finished = [task.archive.finished_at for task in ends]
    assert finished == sorted(finished)
    talk = [text for text in model.heard if text != "other"]
    assert talk == (["one"] if backoff else []) + ["one", "two", "three"]


async def test_nothing_is_written_for_a_session_that_was_deleted_meanwhile(
    services: Services,
    scope: Scope,
    superuser: psycopg.Connection,
    model: FakeModel,
    repetition: int,
) -> None:
    gate = Gate()
    model.turns.append(gate)
    await commit(services, scope, "talk", "hello")
    with capture_logs() as logs:
        async with working(services):
            await gate.reached.wait()
            superuser.execute("DELETE FROM cairn.sessions")  # past the service, which would wake the worker
            gate.opened.set()
            await ended(services, scope, await commit(services, scope, "chat", "next"))
    for table in ("sessions", "messages", "archives", "jobs", "model_answers"):
        assert superuser.execute(f"SELECT count(DISTINCT account_id) FROM cairn.{table}").fetchone() == (1,)
    assert superuser.execute("SELECT name FROM cairn.sessions").fetchall() == [("chat",)]
    # What was asked is paid for, unless a heartbeat noticed the deletion before the answer came.
    assert superuser.execute("SELECT count(*) FROM cairn.model_calls").fetchone() in {(1,), (2,)}
    assert {entry["log_level"] for entry in logs} == {"info"}


async def test_a_worker_that_stops_finishes_what_it_has_in_hand(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    gate = Gate()
    model.turns.append(gate)
    first = await commit(services, scope, "talk", "one")
    second = await commit(services, scope, "talk", "two")
    async with working(services):
        await gate.reached.wait()
        asyncio.get_running_loop().call_later(0.05, gate.opened.set)
    assert (await services.tasks.get(scope, str(first))).status is TaskStatus.COMPLETED
    assert (await services.tasks.get(scope, str(second))).status is TaskStatus.PENDING


async def test_a_bug_in_a_step_is_tried_again_and_does_not_end_the_worker(
    services: Services, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    async def stumble(_: ToolRequest) -> None:
        raise ZeroDivisionError("secret detail")

    model.turns.append(stumble)
    with capture_logs() as logs:
        async with working(services):
            task_id = await commit(services, scope, "talk", "hello")
            await job_is(superuser, "ready", 1)
            row = job(superuser)
            end_the_pause(superuser)
            assert (await ended(services, scope, task_id)).status is TaskStatus.COMPLETED
    assert row.error_class == "ZeroDivisionError"
    assert "secret" not in row.error_text
    assert "job_failed" in {entry["event"] for entry in logs}


async def test_a_step_that_takes_too_long_gives_way_and_is_tried_again(
    open_house: OpenHouse, scope: Scope, superuser: psycopg.Connection, model: FakeModel
) -> None:
    model.turns.append(Gate())
    async with open_house(step_deadline_seconds=0.3) as services, working(services):
        task_id = await commit(services, scope, "talk", "hello")
        await job_is(superuser, "ready", 1)
        assert "longer than 0.3 seconds" in job(superuser).error_text
        end_the_pause(superuser)
        assert (await ended(services, scope, task_id)).status is TaskStatus.COMPLETED
