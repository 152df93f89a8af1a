"""The fake model service does what its script says, in a test and as a process."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.model_answers import embedding, smallest
from tests.support.model_behaviours import MISBEHAVIOURS, Behaviour, limit, prose, status
from tests.support.model_server import running_model_server


def _send(url: str, value: Any = None) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, None if value is None else json.dumps(value).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, json.loads(problem.read())


def _chat(url: str, tool: str = "", text: str = "hello") -> tuple[int, dict[str, Any]]:
    value: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}]}
    if tool:
        function = {
            "name": tool,
            "parameters": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
        }
        value["tools"] = [{"type": "function", "function": function}]
    return _send(f"{url}/chat/completions", value)


def test_behaviours_are_used_up_in_order_and_the_default_follows() -> None:
    with running_model_server() as server:
        server.script(status(503), prose("later"))
        assert [_chat(server.base_url)[0] for _ in range(3)] == [503, 200, 200]
        assert [call.behaviour for call in server.calls] == ["status", "prose", "ok"]


def test_behaviours_for_one_tool_wait_for_its_calls() -> None:
    with running_model_server() as server:
        server.script(status(500), kind="remember")
        assert _chat(server.base_url, "forget")[0] == 200
        assert _chat(server.base_url, "remember")[0] == 500


def test_an_unknown_tool_is_called_with_the_smallest_value_of_its_schema() -> None:
    with running_model_server() as server:
        _, reply = _chat(server.base_url, "count")
    assert json.loads(reply["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {"n": 0}


def test_calls_are_recorded_with_prompt_and_size() -> None:
    with running_model_server() as server:
        _chat(server.base_url, "count", "how many berths?")
        (call,) = server.calls
    assert (call.kind, call.prompt) == ("count", "how many berths?")
    assert call.size > len(call.prompt)


def test_a_limit_lasts_until_the_reset() -> None:
    with running_model_server() as server:
        server.script(limit(10))
        assert [_chat(server.base_url, text="x" * 100)[0] for _ in range(2)] == [400, 400]
        assert _chat(server.base_url, text="short")[0] == 200
        server.reset()
        assert _chat(server.base_url, text="x" * 100)[0] == 200


def test_embeddings_depend_on_the_text_alone() -> None:
    with running_model_server() as server:
        _, reply = _send(f"{server.base_url}/embeddings", {"model": "e", "input": ["berth", "berth", "crane"]})
    one, same, other = (item["embedding"] for item in reply["data"])
    assert one == same == embedding("berth", len(one))
    assert one != other


@pytest.fixture
def server_process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.model_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.terminate()


def test_a_running_process_is_scripted_over_http(server_process: "subprocess.Popen[str]") -> None:
    assert server_process.stdout is not None
    base_url = server_process.stdout.readline().split()[-1]
    root = base_url.removesuffix("/v1")
    script = {"behaviours": [{"kind": "status", "code": 429, "headers": {"Retry-After": "1"}}], "reset": True}
    assert _send(f"{root}/script", script) == (200, {"queued": 1})
    assert _chat(base_url)[0] == 429
    assert _send(f"{root}/script", {"behaviours": [{"kind": "dance"}]})[0] == 400
    status_code, calls = _send(f"{root}/calls")
    assert (status_code, calls["count"], calls["calls"][0]["prompt"]) == (200, 1, "hello")
    server_process.terminate()
    assert server_process.wait(timeout=10) == 0


@pytest.mark.parametrize("name", sorted(MISBEHAVIOURS))
def test_every_named_misbehaviour_can_be_sent_as_json(name: str) -> None:
    behaviour = MISBEHAVIOURS[name]
    wire = json.loads(json.dumps({"kind": behaviour.kind, **behaviour.settings}))
    assert Behaviour.from_json(wire) == behaviour


def test_the_smallest_value_of_a_schema_fits_it() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b", "c"],
        "properties": {"a": {"enum": ["x"]}, "b": {"type": "array"}, "c": {"oneOf": [{"type": "boolean"}]}},
    }
    assert smallest(schema) == {"a": "x", "b": [], "c": False}
