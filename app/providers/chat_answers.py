"""Reading the body of a chat completion, whatever a service makes of the format."""

import json
from collections.abc import Mapping, Sequence

from app.domain.errors import ModelRefused, ModelUnavailable
from app.providers.capabilities import Transport
from app.providers.ports import ModelAnswer, ModelUsage


def read_completion(body: str, tool: str, transport: Transport) -> ModelAnswer:
    """Return the arguments of the tool call in a completion, or else its text.

    Among several calls the one to the tool asked for counts, else the first one.

    Raises: ModelUnavailable when the body is no completion at all (a gateway's error page, half an answer);
    ModelRefused when a content filter took the answer away.
    """
    try:
        completion = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        completion = None
    choice = _first(completion.get("choices")) if isinstance(completion, Mapping) else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(completion, Mapping) or not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ModelUnavailable("The model service answered with something that is no chat completion.")
    usage = _usage(completion.get("usage"))
    arguments = _tool_arguments(message, tool)
    if arguments is not None:
        return ModelAnswer(_storable(arguments), tool_called=True, transport=transport.value, usage=usage)
    text = _text(message.get("content")) or _text(message.get("refusal"))
    if not text and choice.get("finish_reason") == "content_filter":
        raise ModelRefused(
            "The content filter of the model service held back the answer.", {"reason": "content_filter"}
        )
    return ModelAnswer(_storable(text), tool_called=False, transport=transport.value, usage=usage)


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _tool_arguments(message: Mapping[str, object], tool: str) -> str | None:
    calls = message.get("tool_calls")
    functions = [
        call.get("function", call) for call in (calls if isinstance(calls, list) else []) if isinstance(call, Mapping)
    ]
    functions.append(message.get("function_call"))
    called = [function for function in functions if isinstance(function, Mapping)]
    named = [function for function in called if function.get("name") == tool]
    for function in [*named, *called]:
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            return arguments
        if arguments is not None:
            return json.dumps(arguments, ensure_ascii=False)
    return None


def _text(content: object) -> str:
    """Return the text of a message, whose content may come in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text(content.get("text"))
    if isinstance(content, Sequence):
        return "".join(_text(part) for part in content)
    return ""


def _storable(text: str) -> str:
    """Return the text without what no database takes: halves of surrogate pairs and NUL."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _usage(usage: object) -> ModelUsage:
    if not isinstance(usage, Mapping):
        return ModelUsage()
    return ModelUsage(_tokens(usage.get("prompt_tokens")), _tokens(usage.get("completion_tokens")))


def _tokens(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
