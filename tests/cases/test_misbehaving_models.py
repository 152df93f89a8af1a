"""From commit to document over HTTP, with models and services that misbehave in every known way.

Every row is one way, what the step comes to, and what is written down. The document that stood before is never lost.
"""

import json
from collections import Counter
from dataclasses import dataclass

import pytest

from app.domain.tasks import TaskStatus
from tests.support.model_answers import SECTIONS
from tests.support.model_behaviours import LASTING, MISBEHAVIOURS, Behaviour, message, ok, prose, raw, truncate
from tests.support.model_server import ModelServer
from tests.support.over_http import PRIOR, OpenScene, Scene

ASKED = ("Ana asks whether port 5433 is free.", "See harbour/locks.md.")
USABLE, RECOVERED, UNUSABLE = ("usable", None), ("recovered", None), ("unusable", None)
DOWN, REFUSED = ("failed", "MODEL_UNAVAILABLE"), ("failed", "MODEL_REFUSED")
STATE, FACTS, FILES, ERRORS = SECTIONS[1], SECTIONS[3], SECTIONS[4], SECTIONS[5]
SENSIBLE = {STATE, FACTS, FILES}
"""What the fake model changes when it behaves."""


def update(**ops: object) -> str:
    kept = {name: {"op": "KEEP"} for name in SECTIONS}
    return json.dumps({"sections": {**kept, **ops}}, ensure_ascii=False)


def curly(text: str) -> str:
    return text.replace('"', "”")


CUSTOMERS = ("Ana", "Ben", "Cleo", "Dora", "Emil", "Fritz", "Greta", "Hanna", "Ivo", "Jana", "Kim", "Lea")
MOVED = {"op": "UPDATE", "content": "Moved to Lisbon."}
BOMB = "Moved.\n\n## Key Facts & Decisions\n- nothing\n\n## Open Issues\n"
WIPE = update(**{name: {"op": "UPDATE", "content": ""} for name in SECTIONS})
LOSSY = update(**{FACTS: {"op": "UPDATE", "content": "- things were decided"},
                  FILES: {"op": "UPDATE", "content": "- some files"},
                  ERRORS: {"op": "UPDATE", "content": "- none"},
                  "Open Issues": {"op": "UPDATE", "content": "None."},
                  "Session Title": {"op": "UPDATE", "content": "Holiday plans"}})  # fmt: skip
WRONG_TYPES = json.dumps({"sections": {STATE: MOVED, FACTS: 7, FILES: ["KEEP"], ERRORS: {"op": 3},
                                       "Open Issues": {"op": "UPDATE", "content": {"a": 1}}}})  # fmt: skip
THOUGHT = f"<thinking>{{not yet}}</thinking>{json.dumps({'sections': {STATE: MOVED}})}"
MORE = {
    **MISBEHAVIOURS,
    "curly quotes": raw(curly(json.dumps({"sections": {STATE: MOVED}}))),
    "thinking tags in the arguments": raw(THOUGHT),
    "wrong types": raw(WRONG_TYPES),
    "a header of another section": raw(update(**{STATE: {"op": "UPDATE", "content": BOMB}})),
    "empty updates": raw(WIPE),
    "a rewrite that loses everything": raw(LOSSY),
    "some sections only": raw(update(**{STATE: MOVED}).replace('"Open Issues": {"op": "KEEP"}', '"": 1')),
    "an unknown operation": raw(update(**{STATE: {"op": "REPLACE", "content": "x"}, FACTS: {"op": "DELETE"}})),
    "another object": raw('{"memory": "Moved to Lisbon."}'),
    "markup of another tool format": prose("<tool_call>update_working_memory(Current State)</tool_call>"),
    "cut before the first section": truncate(0.02),
    "raw wrapper around broken JSON": raw(json.dumps({"raw": "{'sections': {'Current State': {'op': 'UPDATE', "
                                                             "'content': 'Moved to Lisbon.'}}}"})),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A misbehaviour that lasts, and what a commit on top of a document comes to under it.

    http: calls to the service. calls: what model_calls says. changed: sections that are no longer as they were.
    """

    way: str
    outcome: str
    http: int
    calls: tuple[tuple[str, str | None], ...]
    source: str | None = None
    changed: frozenset[str] | set[str] = frozenset()
    transport: str = "forced_tool"
    error_class: str | None = None


def read(way: str, source: str, *changed: str, call=RECOVERED, http: int = 1, transport: str = "forced_tool") -> Row:
    """The answer can be read after all."""
    outcome = "applied" if changed else "nothing_to_remember"
    return Row(way, outcome, http, (call,), f"update/{source}", frozenset(changed), transport)


def unreadable(way: str, transport: str = "forced_tool") -> Row:
    """Both questions of both attempts come to nothing."""
    return Row(way, "unusable", 4, (UNUSABLE,) * 4, transport=transport, error_class="AGENT_OUTPUT_INVALID")


def down(way: str, http: int = 2) -> Row:
    """Both attempts find no model."""
    return Row(way, "failed", http, (DOWN, DOWN), error_class="MODEL_UNAVAILABLE")


def refused(way: str) -> Row:
    """Nothing would change at a second attempt, so there is none."""
    return Row(way, "failed", 1, (REFUSED,), error_class="MODEL_REFUSED")


ROWS = (
    unreadable("prose", "json_mode"),
    unreadable("empty_content", "json_mode"),
    unreadable("null_content", "json_mode"),
    unreadable("refusal", "json_mode"),
    unreadable("markup of another tool format", "json_mode"),
    unreadable("not_json"),
    unreadable("empty_arguments"),
    unreadable("array_arguments"),
    unreadable("null_arguments"),
    unreadable("arguments_as_object"),
    unreadable("another object"),
    unreadable("cut before the first section"),
    read("content_in_parts", "json_text"),
    read("thought_before_json", "json_text", *SENSIBLE),
    read("json_in_the_text", "json_text", STATE),
    read("fenced_json_in_the_text", "fenced_json", STATE),
    read("wrong_tool", "json_text", *SENSIBLE, call=USABLE),
    read("two_calls", "json_text", STATE),
    read("legacy_function_call", "json_text", STATE),
    read("fenced_arguments", "fenced_json", STATE),
    read("trailing_comma", "section_recovery"),
    read("single_quotes", "section_recovery", STATE),
    read("curly quotes", "section_recovery", STATE),
    read("inner_quotes", "section_recovery", STATE),
    read("raw_wrapper", "raw_json"),
    read("raw wrapper around broken JSON", "section_recovery", STATE),
    read("lower_case_operations", "json_text", STATE),
    read("missing_wrapper", "json_text", STATE),
    read("some sections only", "json_text", STATE),
    read("wrong types", "json_text", STATE),
    read("an unknown operation", "json_text"),
    read("a header of another section", "json_text", STATE, call=USABLE),
    read("empty updates", "json_text", call=USABLE),
    read("a rewrite that loses everything", "json_text", FACTS, FILES, "Open Issues", call=USABLE),
    read("thinking tags in the arguments", "json_text", STATE),
    read("lone_surrogate", "json_text", STATE),
    read("nul_character", "json_text", STATE),
    read("truncated_arguments", "section_recovery", STATE),
    read("no_one_of", "json_text", *SENSIBLE, call=USABLE, http=2),
    read("no_tool_choice", "json_text", *SENSIBLE, call=USABLE, http=2, transport="auto_tool"),
    read("no_tools", "json_text", *SENSIBLE, call=USABLE, http=2, transport="json_mode"),
    read("no_json_mode_either", "json_text", *SENSIBLE, call=USABLE, http=3, transport="plain"),
    read("no_system_message", "json_text", *SENSIBLE, call=USABLE, http=2),
    down("drop", http=6),
    down("half_body", http=6),
    down("hang"),
    down("drip"),
    down("html_page"),
    down("no_choices"),
    down("empty_body"),
    down("error_with_status_200"),
    down("rate_limited"),
    down("rate_limited_until_a_date"),
    down("rate_limited_nonsense"),
    down("server_error"),
    down("bad_gateway"),
    down("overloaded"),
    down("request_timeout"),
    refused("content_filter"),
    refused("content_policy"),
    refused("bad_key"),
    refused("forbidden"),
    refused("unknown_model"),
    refused("bad_request"),
    refused("context_too_long"),
    refused("small_window"),
)
ONE_OF_EACH = {
    "prose", "null_arguments", "drop", "hang", "empty_body", "rate_limited", "server_error", "bad_key",
    "content_filter", "small_window",
}  # fmt: skip
FAILURES = tuple(
    pytest.param(row, marks=() if row.way in ONE_OF_EACH else pytest.mark.cases, id=row.way)
    for row in ROWS
    if row.error_class
)
WAITING_SECONDS = 0.3


def test_every_known_misbehaviour_has_its_row() -> None:
    assert {row.way for row in ROWS} == set(MORE)
    assert max(Counter(row.way for row in ROWS).values()) == 1


def misbehave(server: ModelServer, behaviour: Behaviour) -> None:
    server.script(*[behaviour] * (1 if behaviour.kind in LASTING else 12))


def patience(way: str) -> float:
    return WAITING_SECONDS if way in {"hang", "drip"} else 5.0


async def see_the_failure(scene: Scene, row: Row, archive_no: int, messages: int) -> None:
    """Look at the context of somebody who reads while the newest archive has failed."""
    context = await scene.services.context.assemble(scene.scope, "talk", 10_000)
    assert context.freshness == "stale"
    assert [message.seq for message in context.fitted.messages][-len(ASKED) :] == [messages - 1, messages]
    assert context.failed_archives == 1
    current = await scene.services.working_memory.current(scene.scope, "talk")
    assert current.freshness == "stale"
    job = scene.job(archive_no)
    assert (job.state, job.error_class) == ("failed", row.error_class)
    assert job.outcome == row.outcome
    assert job.attempts == (1 if row.error_class == "MODEL_REFUSED" else 2)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.way)
async def test_a_document_survives(open_scene: OpenScene, model_server: ModelServer, row: Row) -> None:
    async with open_scene(model_timeout_seconds=patience(row.way)) as scene:
        await scene.remember()
        before = await scene.bodies()
        misbehave(model_server, MORE[row.way])
        task = await scene.commit(*ASKED)
        after = await scene.bodies()
        assert before is not None
        assert after is not None
        assert (task.archive.outcome, task.archive.document_source) == (row.outcome, row.source)
        assert task.status is (TaskStatus.FAILED if row.error_class else TaskStatus.COMPLETED)
        assert {section.value for section in after if after[section] != before[section]} == row.changed
        assert (len(model_server.calls), tuple(scene.calls())) == (row.http, row.calls)
        answers = scene.answers()
        assert [answer.usable for answer in answers] == [c != UNUSABLE for c in row.calls if c[0] != "failed"]
        if answers:
            assert answers[-1].transport == row.transport
        kept = await scene.remembered()
        assert "think" not in kept
        assert [line for section in (FACTS, FILES, ERRORS, "Open Issues") for line in PRIOR[section].split("\n")
                if line.removeprefix("- ") not in kept] == []  # fmt: skip
        if row.error_class:
            await see_the_failure(scene, row, 2, messages=3)
        else:
            assert scene.job().state == "done"
            assert (await scene.services.context.assemble(scene.scope, "talk", 10_000)).freshness == "current"


@pytest.mark.parametrize("row", FAILURES)
async def test_a_first_commit_that_fails_is_taken_in_by_the_next(
    open_scene: OpenScene, model_server: ModelServer, row: Row
) -> None:
    async with open_scene(model_timeout_seconds=patience(row.way)) as scene:
        misbehave(model_server, MORE[row.way])
        task = await scene.commit(*ASKED)
        assert (task.status, task.archive.outcome) == (TaskStatus.FAILED, row.outcome)
        assert task.archive.document_source is None
        creations = row.calls[:2]  # there is no second question where there is no document
        assert tuple(scene.calls(1)) == creations
        assert [answer.tool for answer in scene.answers(1)] == (
            ["create_working_memory"] * 2 if row.outcome == "unusable" else []
        )
        await see_the_failure(scene, row, 1, messages=2)
        context = await scene.services.context.assemble(scene.scope, "talk", 10_000)
        assert (context.is_placeholder, context.document_archive_no) == (True, None)
        assert "no model answered about 2 archived messages" in context.fitted.overview
        assert context.fitted.overview_tokens == scene.services.count_tokens(context.fitted.overview) > 0
        assert scene.superuser.execute("SELECT count(*) FROM cairn.working_memory_sections").fetchone() == (0,)
        model_server.reset()
        later = await scene.commit("Then they sail.")
        assert (later.archive.outcome, later.archive.covers_from_seq) == ("applied", 1)
        assert "[1]" in model_server.calls[0].prompt
        mended = await scene.services.context.assemble(scene.scope, "talk", 10_000)
        assert (mended.freshness, mended.is_placeholder, mended.fitted.messages) == ("current", False, ())


@pytest.mark.parametrize("call", [message({"role": "assistant", "content": None}), prose(), raw("null")])
async def test_a_creation_with_the_old_document_is_the_second_question(
    open_scene: OpenScene, model_server: ModelServer, call: Behaviour
) -> None:
    """Its seven bodies pass the guards like any rewrite, so that it can lose nothing either."""
    poor = {**dict.fromkeys(SECTIONS, "- nothing much"), STATE: "The port is being checked."}
    async with open_scene() as scene:
        await scene.remember()
        model_server.script(call, ok(poor))
        task = await scene.commit(*ASKED)
        assert (task.archive.outcome, task.archive.document_source) == ("applied", "create/json_text")
        assert [c.kind for c in model_server.calls] == ["update_working_memory", "create_working_memory"]
        assert "Who signs the berth contract?" in model_server.calls[1].prompt
        assert scene.calls() == [UNUSABLE, USABLE]
        assert scene.job().attempts == 1
        kept = await scene.remembered()
        assert "The port is being checked." in kept
        for section in (FACTS, FILES, ERRORS, "Open Issues", "Session Title"):
            assert [line for line in PRIOR[section].split("\n") if line.removeprefix("- ") not in kept] == []


@pytest.mark.parametrize("bodies", [6, 1, 0])
async def test_a_second_answer_with_fewer_than_seven_bodies_changes_nothing(
    open_scene: OpenScene, model_server: ModelServer, bodies: int
) -> None:
    async with open_scene(max_attempts=1) as scene:
        await scene.remember()
        before = await scene.bodies()
        model_server.script(prose(), ok(dict.fromkeys(SECTIONS[:bodies], "- all gone")))
        task = await scene.commit(*ASKED)
        assert (task.archive.outcome, scene.calls(), await scene.bodies()) == ("unusable", [UNUSABLE, UNUSABLE], before)


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (raw(json.dumps(dict.fromkeys(SECTIONS, "- seven")).replace('"', "'")), "create/section_recovery"),
        (prose("```json\n" + json.dumps(dict.fromkeys(SECTIONS, "- seven")) + "\n```"), "create/fenced_json"),
        (prose("# Notes\n\n" + "".join(f"## {name}\n- seven\n\n" for name in SECTIONS)), "create/document"),
        (raw(json.dumps({"raw": json.dumps(dict.fromkeys(SECTIONS, "- seven"))})), "create/raw_json"),
        (raw(json.dumps({name.replace("&", "and"): ["seven"] for name in SECTIONS})), "create/json_text"),
    ],
    ids=["quotes", "fence", "document", "wrapper", "lists"],
)  # fmt: skip
async def test_a_first_document_is_read_in_any_wrapping(
    open_scene: OpenScene, model_server: ModelServer, answer: Behaviour, source: str
) -> None:
    async with open_scene() as scene:
        model_server.script(answer)
        task = await scene.commit(*ASKED)
        assert (task.archive.outcome, task.archive.document_source) == ("applied", source)
        bodies = await scene.bodies()
        assert bodies is not None
        assert set(bodies.values()) == {"- seven"}


async def test_half_a_first_document_is_none(open_scene: OpenScene, model_server: ModelServer) -> None:
    async with open_scene() as scene:
        model_server.script(truncate(0.6))
        task = await scene.commit(*ASKED)
        assert (task.archive.outcome, scene.calls(1), scene.job(1).attempts) == ("applied", [UNUSABLE, USABLE], 2)


async def test_a_model_with_nothing_to_say_completes_with_that_reason(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    async with open_scene() as scene:
        await scene.remember()
        before = await scene.bodies()
        model_server.script(raw(update()))
        task = await scene.commit("Thanks!")
        assert (task.status, task.archive.outcome) == (TaskStatus.COMPLETED, "nothing_to_remember")
        assert (scene.calls(), await scene.bodies()) == ([USABLE], before)
        context = await scene.services.context.assemble(scene.scope, "talk", 10_000)
        assert (context.fitted.messages, context.freshness) == ((), "current")


async def test_an_update_cannot_lose_facts_issues_or_the_subject(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    facts = [f"Customer {name} pays €{90 + n} a month since 2031-03-{n + 10}" for n, name in enumerate(CUSTOMERS)]
    issues = ["Who approves the discount for Hanna?", "Is the price list for 2032 final?", "Does Ivo need a refund?"]
    first = {**PRIOR, "Session Title": "Pricing review", FACTS: "- " + "\n- ".join(facts),
             "Open Issues": "- " + "\n- ".join(issues)}  # fmt: skip
    async with open_scene() as scene:
        model_server.script(ok(first))
        await scene.commit("We review the prices.")
        worse = {"Session Title": {"op": "UPDATE", "content": "Holiday plan"},
                 FACTS: {"op": "UPDATE", "content": "- Several customers pay several prices"},
                 "Open Issues": {"op": "UPDATE", "content": f"- {issues[1]}\n- {issues[2]}"}}  # fmt: skip
        model_server.script(raw(update(**worse)))
        assert (await scene.commit("Let us talk about the holidays.")).archive.outcome == "applied"
        bodies = await scene.bodies()
        assert bodies is not None
        overview = (await scene.services.context.assemble(scene.scope, "talk", 20_000)).fitted.overview
        assert [text for text in (*facts, *issues) if text not in overview] == []
        assert f"- [restored] {issues[0]}" in overview
        assert "Pricing review" in overview
        assert [overview.count(f"\n## {name}\n") for name in SECTIONS] == [1] * 7
