"""The two tools a model is offered, as JSON schemas (draft 2020-12)."""

from typing import Final

from app.domain.working_memory.sections import SECTIONS, Section

UPDATE_TOOL: Final = "update_working_memory"
CREATE_TOOL: Final = "create_working_memory"

_HOLDS: Final = {
    Section.SESSION_TITLE: "A title of 5 to 10 words.",
    Section.CURRENT_STATE: "Where the work stands and what comes next.",
    Section.TASK_AND_GOALS: "What is to be reached, and the design decisions behind it.",
    Section.KEY_FACTS: "Facts, choices with their reasons, preferences and constraints, one per bullet.",
    Section.FILES_AND_CONTEXT: "Files, functions, paths, links and tickets, and what each is for.",
    Section.ERRORS_AND_CORRECTIONS: "Mistakes, their corrections and attempts that failed, one per bullet.",
    Section.OPEN_ISSUES: "What is unresolved: questions, blockers and risks, one per bullet.",
}


def _closed_object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _shapes() -> list[dict[str, object]]:
    items = {"type": "array", "items": {"type": "string"}}
    return [
        _closed_object({"op": {"type": "string", "enum": ["KEEP"]}}),
        _closed_object({"op": {"type": "string", "enum": ["UPDATE"]}, "content": {"type": "string"}}),
        _closed_object({"op": {"type": "string", "enum": ["APPEND"]}, "items": items}),
    ]


def _flat_shape() -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["KEEP", "UPDATE", "APPEND"]},
            "content": {"type": "string", "description": "The whole new text. Only with UPDATE."},
            "items": {"type": "array", "items": {"type": "string"}, "description": "New items. Only with APPEND."},
        },
        "required": ["op"],
        "additionalProperties": False,
    }


def update_parameters(*, one_of: bool = True) -> dict[str, object]:
    """Return the parameters of the update tool.

    one_of: give each operation its own closed shape; without it one shape stands for all three, for servers that
    refuse `oneOf`.
    """
    sections: dict[str, object] = {}
    for section in SECTIONS:
        shape: dict[str, object] = {"oneOf": _shapes()} if one_of else _flat_shape()
        sections[section.value] = {"description": _HOLDS[section], **shape}
    return _closed_object({"sections": _closed_object(sections)})


def create_parameters() -> dict[str, object]:
    """Return the parameters of the creation tool: seven texts."""
    texts: dict[str, object] = {
        section.value: {"type": "string", "description": _HOLDS[section]} for section in SECTIONS
    }
    return _closed_object(texts)


def _tool(name: str, description: str, parameters: dict[str, object]) -> dict[str, object]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters, "strict": True},
    }


def update_tool(*, one_of: bool = True) -> dict[str, object]:
    """Return the update tool in the form of the chat completions API."""
    return _tool(
        UPDATE_TOOL,
        "Say for each of the seven sections whether it stays, is replaced or gains items.",
        update_parameters(one_of=one_of),
    )


def create_tool() -> dict[str, object]:
    """Return the creation tool in the form of the chat completions API."""
    return _tool(CREATE_TOOL, "Write the seven sections of a new working memory.", create_parameters())
