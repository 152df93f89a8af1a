"""From a behaviour and a chat request to the reply that goes over the wire."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.model_answers import completion, prompt_of, sensible_arguments, tool_call, tool_of
from tests.support.model_behaviours import Behaviour, error
from tests.support.model_http import Reply


def reply_to(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    """Return what the server sends for a request under a behaviour."""
    return _REPLIES[behaviour.kind](behaviour, asked)


def feature_refusal(asked: Mapping[str, Any], refused: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the error for the first feature a request uses and the server refuses, None when it uses none."""
    for feature in refused:
        uses, text, param = _FEATURES[feature]
        if uses(asked):
            return error(text, "unsupported_parameter", param)
    return None


_FEATURES: Mapping[str, tuple[Callable[[Mapping[str, Any]], bool], str, str]] = {
    "one_of": (
        lambda asked: "oneOf" in json.dumps(asked.get("tools", "")),
        "Invalid schema for function: 'oneOf' is not permitted.",
        "tools[0].function.parameters",
    ),
    "tool_choice": (
        lambda asked: isinstance(asked.get("tool_choice"), dict),
        "Only tool_choice 'auto' is supported",
        "tool_choice",
    ),
    "tools": (lambda asked: bool(asked.get("tools")), "This model does not support tools", "tools"),
    "response_format": (
        lambda asked: bool(asked.get("response_format")),
        "response_format is not supported",
        "response_format",
    ),
    "system": (
        lambda asked: any(message.get("role") == "system" for message in asked.get("messages", [])),
        "System role not supported",
        "messages",
    ),
}


def _ok(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    arguments = behaviour.get("arguments")
    return _answer(asked, sensible_arguments(asked) if arguments is None else arguments)


def _answer(asked: Mapping[str, Any], arguments: Any, **how: float) -> Reply:
    """Return a tool call where a tool was offered, the arguments as text where not."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if asked.get("tools"):
        return _message(asked, tool_call(tool_of(asked), text), text, "tool_calls", **how)
    return _message(asked, {"role": "assistant", "content": text}, text, **how)


def _message(
    asked: Mapping[str, Any], message: Mapping[str, Any], answer: str, finish_reason: str = "stop", **how: float
) -> Reply:
    body = completion(message, prompt=prompt_of(asked), answer=answer, finish_reason=finish_reason)
    return Reply.json(200, body, **how)


def _content(asked: Mapping[str, Any], content: Any) -> Reply:
    return _message(asked, {"role": "assistant", "content": content}, str(content))


def _think(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    answer = json.dumps(sensible_arguments(asked), ensure_ascii=False)
    return _content(asked, f"<think>\n{behaviour.get('thought')}\n</think>\n\n{answer}")


def _status(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    body, headers = behaviour.get("body"), behaviour.get("headers") or {}
    code = int(behaviour.get("code"))
    if isinstance(body, str):
        return Reply(code, body.encode(), {"Content-Type": "text/html", **headers})
    return Reply.json(code, body if body is not None else error(f"status {code}"), headers)


def _truncate(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    whole = json.dumps(sensible_arguments(asked), ensure_ascii=False)
    text = whole[: int(len(whole) * float(behaviour.get("share", 0.5)))]
    message = tool_call(tool_of(asked), text) if asked.get("tools") else {"role": "assistant", "content": text}
    return _message(asked, message, text, "length")


def _raw(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    return _answer(asked, str(behaviour.get("text")))


def _wrong_tool(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    text = json.dumps(sensible_arguments(asked), ensure_ascii=False)
    return _message(asked, tool_call(str(behaviour.get("name")), text), text, "tool_calls")


def _scripted_message(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    message = behaviour.get("message")
    return _message(asked, message, json.dumps(message), str(behaviour.get("finish_reason", "stop")))


def _body(behaviour: Behaviour, asked: Mapping[str, Any]) -> Reply:
    content_type = str(behaviour.get("content_type", "application/json"))
    return Reply(200, str(behaviour.get("text")).encode(), {"Content-Type": content_type})


_REPLIES: Mapping[str, Callable[[Behaviour, Mapping[str, Any]], Reply]] = {
    "ok": _ok,
    "prose": lambda behaviour, asked: _content(asked, behaviour.get("text", "Done.")),
    "raw": _raw,
    "list": lambda behaviour, asked: _content(asked, behaviour.get("parts")),
    "think": _think,
    "status": _status,
    "hang": lambda behaviour, asked: _answer(
        asked, sensible_arguments(asked), wait_seconds=float(behaviour.get("seconds", 60))
    ),
    "drop": lambda behaviour, asked: Reply(sent_share=0.0),
    "truncate": _truncate,
    "half_body": lambda behaviour, asked: _answer(
        asked, sensible_arguments(asked), sent_share=float(behaviour.get("share", 0.5))
    ),
    "body": _body,
    "drip": lambda behaviour, asked: _answer(
        asked, sensible_arguments(asked), drip_seconds=float(behaviour.get("seconds", 30))
    ),
    "message": _scripted_message,
    "wrong_tool": _wrong_tool,
}
