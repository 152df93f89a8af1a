"""A model behind HTTP: what each way of misbehaving ends in, how often it is asked, and what is remembered."""

import json
import logging
import time

import pytest

from app.domain.errors import ModelRefused, ModelUnavailable
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.sections import SECTIONS, Section
from app.providers.capabilities import CapabilitiesInMemory, Capability, Transport
from app.providers.openai_compatible import OpenAICompatibleModel
from tests.providers.conftest import API_KEY
from tests.support.model_behaviours import MISBEHAVIOURS, Behaviour, drop, error, hang, prose, refuse, status
from tests.support.model_requests import create_request, update_request
from tests.support.model_server import ModelServer

ANSWERED_BY_A_CALL = {
    "two_calls",
    "legacy_function_call",
    "wrong_tool",
    "not_json",
    "empty_arguments",
    "array_arguments",
    "null_arguments",
    "arguments_as_object",
    "fenced_arguments",
    "trailing_comma",
    "single_quotes",
    "inner_quotes",
    "raw_wrapper",
    "lower_case_operations",
    "missing_wrapper",
    "lone_surrogate",
    "nul_character",
    "truncated_arguments",
}
ANSWERED_IN_TEXT = {
    "prose",
    "empty_content",
    "null_content",
    "content_in_parts",
    "thought_before_json",
    "json_in_the_text",
    "fenced_json_in_the_text",
    "refusal",
}
UNAVAILABLE = {
    "html_page": None,
    "no_choices": None,
    "empty_body": None,
    "error_with_status_200": None,
    "hang": None,
    "drip": None,
    "rate_limited": 7.0,
    "rate_limited_until_a_date": 3600.0,
    "rate_limited_nonsense": None,
    "server_error": None,
    "bad_gateway": None,
    "overloaded": 3.0,
    "request_timeout": None,
}
BROKEN_CONNECTIONS = {"drop", "half_body"}
REFUSED = {
    "bad_key": "authentication",
    "forbidden": "permission",
    "unknown_model": "unknown_model",
    "bad_request": "bad_request",
    "context_too_long": "context_length",
    "content_policy": "content_policy",
    "content_filter": "content_filter",
    "small_window": "context_length",
}
STEPS_DOWN = {
    "no_one_of": (Transport.FORCED_TOOL, 2),
    "no_tool_choice": (Transport.AUTO_TOOL, 2),
    "no_tools": (Transport.JSON_MODE, 2),
    "no_json_mode_either": (Transport.PLAIN, 3),
    "no_system_message": (Transport.FORCED_TOOL, 2),
}


def test_every_named_misbehaviour_has_a_stated_outcome() -> None:
    outcomes = [
        ANSWERED_BY_A_CALL,
        ANSWERED_IN_TEXT,
        set(UNAVAILABLE),
        BROKEN_CONNECTIONS,
        set(REFUSED),
        set(STEPS_DOWN),
    ]
    stated = [name for outcome in outcomes for name in outcome]
    assert sorted(stated) == sorted(MISBEHAVIOURS)
    assert len(stated) >= 25


async def test_a_model_that_behaves_is_asked_once_with_a_forced_tool(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    answer = await model.call_tool(update_request())
    assert answer.tool_called
    assert answer.transport == "forced_tool"
    assert set(json.loads(answer.content)["sections"]) == {section.value for section in SECTIONS}
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0
    (call,) = model_server.calls
    assert call.request["model"] == "harbour-1"
    assert call.request["tool_choice"] == {"type": "function", "function": {"name": "update_working_memory"}}
    assert "oneOf" in json.dumps(call.request["tools"])
    assert call.headers["authorization"] == f"Bearer {API_KEY}"


async def test_a_creation_comes_back_with_seven_bodies(model: OpenAICompatibleModel) -> None:
    answer = await model.call_tool(create_request())
    created = read_created(answer.content)
    assert created is not None
    assert "harbour/tides.py" in created.bodies[Section.FILES_AND_CONTEXT]


@pytest.mark.parametrize("name", sorted(ANSWERED_BY_A_CALL))
async def test_arguments_come_back_unread_whatever_they_look_like(
    name: str, model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS[name])
    answer = await model.call_tool(update_request())
    assert answer.tool_called
    answer.content.encode()
    assert "\x00" not in answer.content
    assert len(model_server.calls) == 1
    read_answer(answer.content)


@pytest.mark.parametrize("name", sorted(ANSWERED_IN_TEXT))
async def test_text_in_place_of_a_call_comes_back_as_text_after_one_call(
    name: str, model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS[name])
    answer = await model.call_tool(update_request())
    assert not answer.tool_called
    assert answer.transport == "forced_tool"
    assert len(model_server.calls) == 1


async def test_of_two_calls_the_one_that_was_asked_for_counts(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS["two_calls"])
    assert "Lisbon" in (await model.call_tool(update_request())).content


@pytest.mark.parametrize(("name", "retry_after_seconds"), sorted(UNAVAILABLE.items()))
async def test_a_service_that_is_down_is_worth_another_attempt_later(
    name: str, retry_after_seconds: float | None, model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS[name])
    with pytest.raises(ModelUnavailable) as caught:
        await model.call_tool(update_request())
    assert caught.value.retry_after_seconds == retry_after_seconds
    assert len(model_server.calls) == 1


@pytest.mark.parametrize("name", sorted(BROKEN_CONNECTIONS))
async def test_a_broken_connection_is_tried_again_within_the_call(
    name: str, model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS[name], MISBEHAVIOURS[name])
    assert (await model.call_tool(update_request())).tool_called
    assert len(model_server.calls) == 3


async def test_a_connection_that_keeps_breaking_makes_the_model_unavailable(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(*[drop()] * 3)
    with pytest.raises(ModelUnavailable):
        await model.call_tool(update_request())
    assert len(model_server.calls) == 3


async def test_nobody_listening_makes_the_model_unavailable(unused_tcp_port: int) -> None:
    model = OpenAICompatibleModel(model="m", base_url=f"http://127.0.0.1:{unused_tcp_port}/v1", timeout_seconds=5)
    with pytest.raises(ModelUnavailable):
        await model.call_tool(update_request())
    await model.aclose()


@pytest.mark.parametrize(("name", "reason"), sorted(REFUSED.items()))
async def test_a_refusal_for_good_is_not_asked_twice(
    name: str, reason: str, model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(MISBEHAVIOURS[name])
    with pytest.raises(ModelRefused) as caught:
        await model.call_tool(update_request())
    assert caught.value.details["reason"] == reason
    assert len(model_server.calls) == 1


@pytest.mark.parametrize(("name", "transport", "calls"), [(name, *outcome) for name, outcome in STEPS_DOWN.items()])
async def test_a_missing_feature_is_done_without_and_remembered(
    name: str, transport: Transport, calls: int, model_server: ModelServer
) -> None:
    store = CapabilitiesInMemory()
    model_server.script(MISBEHAVIOURS[name])
    for expected in (calls, calls + 1):
        # A new client, as another process would have one: what was learnt lies in the store.
        model = OpenAICompatibleModel(model="m", base_url=model_server.base_url, capabilities=store)
        answer = await model.call_tool(update_request())
        await model.aclose()
        assert answer.transport == transport.value
        assert read_answer(answer.content).usable
        assert len(model_server.calls) == expected


async def test_a_model_is_remembered_apart_from_the_others_of_its_service(model_server: ModelServer) -> None:
    store = CapabilitiesInMemory()
    model_server.script(refuse("tools"))
    first = OpenAICompatibleModel(model="one", base_url=model_server.base_url, capabilities=store)
    await first.call_tool(update_request())
    model_server.reset()
    second = OpenAICompatibleModel(model="two", base_url=model_server.base_url, capabilities=store)
    assert (await second.call_tool(update_request())).transport == "forced_tool"
    await first.aclose()
    await second.aclose()


async def test_a_service_without_tools_is_told_the_schema_in_the_prompt(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(refuse("tools"))
    await model.call_tool(update_request())
    last = model_server.calls[-1].request
    assert last["response_format"] == {"type": "json_object"}
    assert "tools" not in last
    assert '"Key Facts & Decisions"' in last["messages"][0]["content"]


async def test_a_model_that_keeps_ignoring_its_tool_is_asked_for_json_instead(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    model_server.script(*[prose()] * 3)
    transports = [(await model.call_tool(update_request())).transport for _ in range(4)]
    assert transports == ["forced_tool"] * 3 + ["json_mode"]


async def test_one_call_of_the_tool_forgives_the_prose_before(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    for _ in range(3):
        model_server.script(prose(), prose())
        answers = [await model.call_tool(update_request()) for _ in range(3)]
        assert [answer.transport for answer in answers] == ["forced_tool"] * 3


async def test_the_deadline_covers_the_whole_call_with_its_retries(model_server: ModelServer) -> None:
    model = OpenAICompatibleModel(model="m", base_url=model_server.base_url, timeout_seconds=30)
    model_server.script(drop(), hang(30))
    started = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        await model.call_tool(update_request(deadline_seconds=0.6))
    await model.aclose()
    assert caught.value.details["reason"] == "deadline"
    assert time.monotonic() - started < 5


SECRET = "the launch code is 7-4-1"


@pytest.mark.parametrize(
    "behaviour",
    [
        status(400, error(f"Bad prompt: {SECRET} with key {API_KEY}", code=f"bad {SECRET}")),
        status(503, error(f"Overloaded by {SECRET}")),
        status(401, f"{API_KEY} is not a key"),
        prose(f"Never repeat that {SECRET}"),
        drop(),
    ],
)
async def test_neither_logs_nor_errors_repeat_prompts_answers_or_keys(
    behaviour: Behaviour, model: OpenAICompatibleModel, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model_server.script(behaviour)
    said = ""
    try:
        await model.call_tool(update_request(user=f"user: {SECRET}"))
    except (ModelRefused, ModelUnavailable) as problem:
        said = f"{problem.message} {problem.details} {problem.__cause__!r}"
    assert SECRET not in said + caplog.text
    assert API_KEY not in said + caplog.text


async def test_the_key_of_the_environment_is_not_sent_to_another_address(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    model = OpenAICompatibleModel(model="m", base_url=model_server.base_url)
    await model.call_tool(update_request())
    await model.aclose()
    assert "sk-of-somebody-else" not in str(model_server.calls[0].headers)


async def test_an_error_that_repeats_the_request_is_not_read_as_a_missing_feature(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    echo = {"detail": [{"loc": ["body", "messages"], "msg": "value error", "input": {"tools": [], "tool_choice": "x"}}]}
    model_server.script(status(422, echo))
    with pytest.raises(ModelRefused):
        await model.call_tool(update_request())
    assert len(model_server.calls) == 1


def test_what_is_remembered_is_a_plain_value() -> None:
    assert Capability() == Capability(transport=Transport.FORCED_TOOL, one_of=True, system_role=True, misses=0)
