"""What the fake model answers when nothing else is scripted: simple rules over the prompt it was sent."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

SECTIONS = (
    "Session Title",
    "Current State",
    "Task & Goals",
    "Key Facts & Decisions",
    "Files & Context",
    "Errors & Corrections",
    "Open Issues",
)
UPDATE = "update_working_memory"
CREATE = "create_working_memory"
_LINE = re.compile(r"^\[\d+\] (?P<when>\S+(?: \S+)??) (?P<who>[^:\n]{1,60}): (?P<text>.+)$", re.MULTILINE)
_FILE = re.compile(r"[\w./-]+\.(?:py|md|ts|js|json|yaml|sql|toml)\b")


def tool_of(request: Mapping[str, Any]) -> str:
    """Return the name of the tool a chat request is about, also when it is asked for JSON in the text; '' when none."""
    tools = request.get("tools")
    if isinstance(tools, list) and tools:
        return str(tools[0].get("function", {}).get("name", ""))
    named = re.search(r"the arguments of `(\w+)`", prompt_of(request))
    return named.group(1) if named else ""


def prompt_of(request: Mapping[str, Any]) -> str:
    """Return all messages of a chat request as one text, or the inputs of an embedding request."""
    if "input" in request:
        texts = request["input"]
        return "\n".join(texts) if isinstance(texts, list) else str(texts)
    return "\n\n".join(str(message.get("content", "")) for message in request.get("messages", []))


def sensible_arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that fit the tool: the conversation in seven sections, or the smallest value of its schema."""
    tool = tool_of(request)
    prompt = prompt_of(request)
    if tool == CREATE:
        return created(prompt)
    if tool == UPDATE:
        return {"sections": updated(prompt)}
    tools = request.get("tools") or [{}]
    return dict(smallest(tools[0].get("function", {}).get("parameters", {"type": "object"})))


def created(prompt: str) -> dict[str, str]:
    """Return seven bodies made of the lines of the conversation in the prompt."""
    lines = _spoken(prompt)
    first = lines[0] if lines else ("somebody", "nothing")
    last = lines[-1] if lines else first
    files = sorted({name for _, text in lines for name in _FILE.findall(text)})
    return dict(
        zip(
            SECTIONS,
            (
                " ".join(first[1].split()[:8]),
                f"{last[0]} said last: {last[1]}",
                f"- {first[1]}",
                "\n".join(f"- {who}: {text}" for who, text in lines[:10]),
                "\n".join(f"- {name}" for name in files) or "None.",
                "None.",
                "\n".join(f"- {text}" for _, text in lines if text.endswith(("?", "？"))) or "None.",
            ),
            strict=True,
        )
    )


def updated(prompt: str) -> dict[str, dict[str, Any]]:
    """Return seven operations: the last words as the state, two facts, the files; KEEP for the rest."""
    lines = _spoken(prompt)
    ops: dict[str, dict[str, Any]] = {name: {"op": "KEEP"} for name in SECTIONS}
    if lines:
        ops["Current State"] = {"op": "UPDATE", "content": f"{lines[-1][0]} said last: {lines[-1][1]}"}
        ops["Key Facts & Decisions"] = {"op": "APPEND", "items": [f"{who}: {text}" for who, text in lines[:2]]}
    files = sorted({name for _, text in lines for name in _FILE.findall(text)})
    if files:
        ops["Files & Context"] = {"op": "APPEND", "items": files}
    return ops


def _spoken(prompt: str) -> list[tuple[str, str]]:
    conversation = prompt.rpartition("<conversation>")[2].partition("</conversation>")[0]
    return [(line["who"], line["text"].strip()) for line in _LINE.finditer(conversation)]


def smallest(schema: Mapping[str, Any]) -> Any:
    """Return the smallest value that fits a JSON schema, as far as tools use it."""
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return smallest(schema[choice][0])
    match schema.get("type"):
        case "array":
            return []
        case "string":
            return ""
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            properties = schema.get("properties", {})
            return {name: smallest(properties.get(name, {})) for name in schema.get("required", [])}


def embedding(text: str, dimensions: int) -> list[float]:
    """Return a vector that depends on the text alone; texts that share words or characters are close."""
    folded = text.casefold()
    features = re.findall(r"\w+", folded) + [folded[i : i + 2] for i in range(len(folded) - 1)]
    vector = [0.0] * dimensions
    for feature in features or [""]:
        digest = hashlib.sha256(feature.encode()).digest()
        vector[int.from_bytes(digest[:4], "big") % dimensions] += 1.0 if digest[4] % 2 else -1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / norm for value in vector]


def completion(message: Mapping[str, Any], *, prompt: str, answer: str, finish_reason: str = "stop") -> dict[str, Any]:
    """Return a chat completion with the message in it; four characters count as one token."""
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [{"index": 0, "message": dict(message), "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": tokens(prompt),
            "completion_tokens": tokens(answer),
            "total_tokens": tokens(prompt) + tokens(answer),
        },
    }


def tool_call(name: str, arguments: Any) -> dict[str, Any]:
    """Return an assistant message that calls a tool; arguments that are text go out as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    call = {"id": "call_fake", "type": "function", "function": {"name": name, "arguments": text}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def tokens(text: str) -> int:
    return (len(text) + 3) // 4
