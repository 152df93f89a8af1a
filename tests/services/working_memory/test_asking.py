"""What is learnt from a model's answers, how long its service is given, and what it is shown."""

import psycopg

from app.domain.excerpts import MOST_ERRORS
from app.domain.tasks import TaskStatus
from app.domain.working_memory.sections import Section
from app.providers.breaker import FAILURES_ALLOWED, FIRST_PAUSE
from tests.support.house import commit
from tests.support.model_answers import SECTIONS
from tests.support.model_behaviours import error, ok, refuse, status
from tests.support.model_server import ModelServer
from tests.support.over_http import MODEL, PRIOR, SESSION, OpenScene
from tests.support.waiting import eventually


async def test_what_a_service_refused_is_known_to_the_next_process(
    open_scene: OpenScene, model_server: ModelServer, superuser: psycopg.Connection
) -> None:
    model_server.script(refuse("tools"))
    async with open_scene() as scene:
        await scene.commit("We move the tide tables.")
        assert [bool(call.request.get("tools")) for call in model_server.calls] == [True, False]
    async with open_scene() as scene:
        await scene.commit("Is port 5433 free?")
        assert [bool(call.request.get("tools")) for call in model_server.calls] == [True, False, False]
    (row,) = superuser.execute("SELECT * FROM cairn.model_capabilities").fetchall()
    assert (row.service, row.model, row.transport) == (f"{model_server.base_url}/", MODEL, "json_mode")


async def test_the_name_a_service_is_remembered_by_holds_no_password(
    open_scene: OpenScene, model_server: ModelServer, superuser: psycopg.Connection
) -> None:
    model_server.script(refuse("tools"))
    secret = model_server.base_url.replace("://", "://ann:hunter2@")
    async with open_scene(model_base_url=secret) as scene:
        await scene.commit("We move the tide tables.")
    rows = superuser.execute("SELECT service FROM cairn.model_capabilities").fetchall()
    assert [row.service for row in rows] == [f"{model_server.base_url}/"]


async def test_a_service_is_given_the_time_it_asks_for(
    open_scene: OpenScene, model_server: ModelServer, superuser: psycopg.Connection
) -> None:
    async with open_scene() as scene:
        model_server.script(status(429, error("Slow down"), {"Retry-After": "47"}))
        task_id = await commit(scene.services, scene.scope, SESSION, "hello")

        async def paused() -> float | None:
            row = superuser.execute(
                "SELECT extract(epoch FROM run_at - now())::float AS pause FROM cairn.jobs"
                " WHERE state = 'ready' AND attempts = 1"
            ).fetchone()
            return row.pause if row else None

        assert 40 < await eventually(paused, "the pause after a 429") <= 47
        task = await scene.end_of(task_id)
    assert (task.status, len(model_server.calls)) == (TaskStatus.COMPLETED, 2)


async def test_of_a_long_log_of_errors_the_newest_are_shown_and_all_are_kept(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    log = "\n".join(f"- Pump {number} was switched off by mistake" for number in range(1, MOST_ERRORS + 21))
    async with open_scene() as scene:
        model_server.script(ok({**PRIOR, "Errors & Corrections": log}))
        await scene.commit("We check the pumps.")
        ops = {name: {"op": "KEEP"} for name in SECTIONS}
        rewritten = "- Pump 70 was switched off by mistake\n- Pump 71 too"
        ops["Errors & Corrections"] = {"op": "UPDATE", "content": rewritten}
        model_server.script(ok({"sections": ops}))
        await scene.commit("Pump 71 too.")
        context = await scene.services.context.assemble(scene.scope, SESSION, 100_000)
        for text in (model_server.calls[1].prompt, context.fitted.overview):
            assert "- Pump 70 was" in text
            assert "- Pump 20 was" not in text
            assert text.count("kept and not shown here: 2") == 1
        bodies = await scene.bodies()
        assert bodies is not None
        assert bodies[Section.ERRORS_AND_CORRECTIONS] == f"{log}\n- Pump 71 too"
        current = await scene.services.working_memory.current(scene.scope, SESSION)
        assert current.document is not None
        assert current.document.sections[Section.ERRORS_AND_CORRECTIONS].bullets == MOST_ERRORS + 21


async def test_a_service_that_keeps_failing_is_left_alone_and_then_tried_again(
    open_scene: OpenScene, model_server: ModelServer, superuser: psycopg.Connection
) -> None:
    async with open_scene(max_attempts=FAILURES_ALLOWED + 2) as scene:
        model_server.script(*[status(503)] * FAILURES_ALLOWED)
        task_id = await commit(scene.services, scene.scope, SESSION, "hello")

        async def paused() -> float | None:
            row = superuser.execute(
                "UPDATE cairn.jobs SET run_at = now() WHERE state = 'ready' AND attempts <= %s RETURNING id",
                [FAILURES_ALLOWED],
            ).fetchone()
            if row:
                superuser.execute("NOTIFY cairn_jobs")
            row = superuser.execute(
                "SELECT extract(epoch FROM run_at - now())::float AS pause FROM cairn.jobs"
                " WHERE state = 'ready' AND attempts = %s",
                [FAILURES_ALLOWED + 1],
            ).fetchone()
            return row.pause if row else None

        pause = await eventually(paused, "the attempt that asks nobody")
        assert pause > FIRST_PAUSE.total_seconds() / 2
        assert len(model_server.calls) == len(scene.calls(1)) == FAILURES_ALLOWED
        superuser.execute("UPDATE cairn.model_breakers SET open_until = now()")
        task = await scene.end_of(task_id)
        assert (task.status, len(model_server.calls)) == (TaskStatus.COMPLETED, FAILURES_ALLOWED + 1)
    (breaker,) = superuser.execute("SELECT failures, open_until FROM cairn.model_breakers").fetchall()
    assert tuple(breaker) == (0, None)
