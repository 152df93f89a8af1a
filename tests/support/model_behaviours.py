"""The ways a model service behaves, as data: what the fake server does with its next call.

A behaviour is a kind and its settings, so that a script can be sent as JSON. MISBEHAVIOURS names the common ways in
which real models and services go wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

KINDS: Final = frozenset(
    {
        "ok",
        "prose",
        "raw",
        "list",
        "think",
        "status",
        "hang",
        "drop",
        "truncate",
        "half_body",
        "body",
        "drip",
        "message",
        "wrong_tool",
        "limit",
        "refuse",
    }
)
LASTING: Final = frozenset({"limit", "refuse"})
"""Kinds that change the server until the next reset rather than its next answer."""


@dataclass(frozen=True)
class Behaviour:
    """One thing the fake server does."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown behaviour {self.kind!r}; known: {', '.join(sorted(KINDS))}")

    def get(self, name: str, default: Any = None) -> Any:
        return self.settings.get(name, default)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Behaviour":
        return cls(str(value["kind"]), {name: part for name, part in value.items() if name != "kind"})


def ok(arguments: Any = None) -> Behaviour:
    """Call the tool: with these arguments, or with sensible ones made of the prompt."""
    return Behaviour("ok", {"arguments": arguments})


def prose(text: str = "Sure! I have updated the working memory for you.") -> Behaviour:
    """Answer in words and call no tool."""
    return Behaviour("prose", {"text": text})


def raw(text: str) -> Behaviour:
    """Call the tool with arguments that are just this text."""
    return Behaviour("raw", {"text": text})


def parts(*texts: str) -> Behaviour:
    """Answer with a message whose content is a list of parts."""
    return Behaviour("list", {"parts": [{"type": "text", "text": text} for text in texts]})


def think(thought: str = "The user moved house. I should note that.") -> Behaviour:
    """Answer with a thought in tags, and sensible arguments as JSON behind it."""
    return Behaviour("think", {"thought": thought})


def status(code: int, body: Any = None, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Answer with an HTTP status; body is an error object, text or None."""
    return Behaviour("status", {"code": code, "body": body, "headers": dict(headers or {})})


def hang(seconds: float) -> Behaviour:
    """Say nothing for so long, then answer sensibly."""
    return Behaviour("hang", {"seconds": seconds})


def drop() -> Behaviour:
    """Close the connection without a word."""
    return Behaviour("drop")


def truncate(share: float = 0.5) -> Behaviour:
    """Break off inside the arguments, as a model does at its output limit."""
    return Behaviour("truncate", {"share": share})


def half_body(share: float = 0.5) -> Behaviour:
    """Announce a whole body and close the connection in the middle of it."""
    return Behaviour("half_body", {"share": share})


def body(text: str, content_type: str = "application/json") -> Behaviour:
    """Answer 200 with a body that is no completion."""
    return Behaviour("body", {"text": text, "content_type": content_type})


def drip(seconds: float) -> Behaviour:
    """Answer sensibly, but spread over so many seconds."""
    return Behaviour("drip", {"seconds": seconds})


def message(value: Mapping[str, Any], finish_reason: str = "stop") -> Behaviour:
    """Answer with this assistant message."""
    return Behaviour("message", {"message": dict(value), "finish_reason": finish_reason})


def wrong_tool(name: str = "search_web") -> Behaviour:
    """Call a tool nobody offered, with sensible arguments."""
    return Behaviour("wrong_tool", {"name": name})


def limit(tokens: int) -> Behaviour:
    """From now on refuse prompts of more tokens (four characters each)."""
    return Behaviour("limit", {"tokens": tokens})


def refuse(*features: str) -> Behaviour:
    """From now on refuse requests that use a feature: one_of, tool_choice, tools, response_format, system."""
    return Behaviour("refuse", {"features": list(features)})


def error(text: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return an error body in the form of the API."""
    return {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}


_GOOD: Final = '{"sections": {"Current State": {"op": "UPDATE", "content": "Moved to Lisbon."}}}'

MISBEHAVIOURS: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        # The model ignores or misreads its tool
        "prose": prose(),
        "empty_content": message({"role": "assistant", "content": ""}),
        "null_content": message({"role": "assistant", "content": None}),
        "content_in_parts": parts('{"sections": {"Session Title": ', '{"op": "KEEP"}}}'),
        "thought_before_json": think(),
        "json_in_the_text": prose(_GOOD),
        "fenced_json_in_the_text": prose(f"Here you are:\n```json\n{_GOOD}\n```"),
        "refusal": message({"role": "assistant", "content": None, "refusal": "I cannot help with that."}),
        "wrong_tool": wrong_tool(),
        "two_calls": message(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "search_web", "arguments": "{}"}},
                    {"id": "2", "type": "function", "function": {"name": "update_working_memory", "arguments": _GOOD}},
                ],
            }
        ),
        "legacy_function_call": message(
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "update_working_memory", "arguments": _GOOD},
            }
        ),
        # The arguments are not what was asked for
        "not_json": raw("KEEP everything"),
        "empty_arguments": raw(""),
        "array_arguments": raw("[]"),
        "null_arguments": raw("null"),
        "arguments_as_object": message(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "update_working_memory", "arguments": {"sections": {}}},
                    }
                ],
            }
        ),
        "fenced_arguments": raw(f"```json\n{_GOOD}\n```"),
        "trailing_comma": raw('{"sections": {"Current State": {"op": "KEEP"},}}'),
        "single_quotes": raw("{'sections': {'Current State': {'op': 'UPDATE', 'content': 'Moved to Lisbon.'}}}"),
        "inner_quotes": raw('{"sections": {"Current State": {"op": "UPDATE", "content": "She said "yes" at noon."}}}'),
        "raw_wrapper": raw('{"raw": "{\\"sections\\": {\\"Current State\\": {\\"op\\": \\"KEEP\\"}}}"}'),
        "lower_case_operations": raw('{"sections": {"Current State": {"op": "update", "content": "Moved."}}}'),
        "missing_wrapper": raw('{"Current State": {"op": "UPDATE", "content": "Moved to Lisbon."}}'),
        "lone_surrogate": raw('{"sections": {"Current State": {"op": "UPDATE", "content": "\ud83d moved"}}}'),
        "nul_character": raw('{"sections": {"Current State": {"op": "UPDATE", "content": "moved\x00"}}}'),
        "truncated_arguments": truncate(),
        # The service does not answer with a completion
        "drop": drop(),
        "half_body": half_body(),
        "hang": hang(30.0),
        "drip": drip(30.0),
        "html_page": body("<html><body>Bad gateway</body></html>", "text/html"),
        "no_choices": body('{"id": "x", "object": "chat.completion", "choices": []}'),
        "empty_body": body(""),
        "error_with_status_200": body('{"error": {"message": "overloaded"}}'),
        "content_filter": message({"role": "assistant", "content": None}, finish_reason="content_filter"),
        # The service refuses for now
        "rate_limited": status(429, error("Slow down", "rate_limit_exceeded"), {"Retry-After": "7"}),
        "rate_limited_until_a_date": status(429, error("Slow down"), {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}),
        "rate_limited_nonsense": status(429, error("Slow down"), {"Retry-After": "soon"}),
        "server_error": status(500, error("Internal error")),
        "bad_gateway": status(502, "<html>502</html>"),
        "overloaded": status(503, error("Overloaded"), {"Retry-After": "3"}),
        "request_timeout": status(408, error("Timeout")),
        # The service refuses for good
        "bad_key": status(401, error("Incorrect API key provided: sk-secret", "invalid_api_key")),
        "forbidden": status(403, error("Your key may not use this model")),
        "unknown_model": status(404, error("The model does not exist", "model_not_found")),
        "bad_request": status(400, error("Something is wrong with the request")),
        "context_too_long": status(
            400, error("This model's maximum context length is 8192 tokens", "context_length_exceeded")
        ),
        "content_policy": status(400, error("Rejected by our content policy", "content_policy_violation")),
        # The service lacks a feature
        "no_one_of": refuse("one_of"),
        "no_tool_choice": refuse("tool_choice"),
        "no_tools": refuse("tools"),
        "no_json_mode_either": refuse("tools", "response_format"),
        "no_system_message": refuse("system"),
        "small_window": limit(20),
    }
)
