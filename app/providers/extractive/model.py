"""The model of last resort and of first contact: rules instead of a network, named as what they are."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.operations import Append, Keep, SectionOp, Update
from app.domain.working_memory.sections import SECTIONS, Section
from app.providers.extractive.conversation import Conversation, read_conversation
from app.providers.extractive.errors import errors_and_corrections
from app.providers.extractive.facts import key_facts
from app.providers.extractive.goals import task_and_goals
from app.providers.extractive.issues import open_issues
from app.providers.extractive.items import bulleted
from app.providers.extractive.references import files_and_context
from app.providers.extractive.state import current_state
from app.providers.extractive.title import session_title
from app.providers.ports import ModelAnswer, ToolRequest, WorkingMemorySource

PROVIDER: Final = "extractive"
MODEL: Final = "rules-1"
_CREATE: Final = "create_working_memory"

_WRITERS: Final[Mapping[Section, Callable[[Conversation, str], SectionOp]]] = {
    Section.SESSION_TITLE: session_title,
    Section.CURRENT_STATE: current_state,
    Section.TASK_AND_GOALS: task_and_goals,
    Section.KEY_FACTS: key_facts,
    Section.FILES_AND_CONTEXT: files_and_context,
    Section.ERRORS_AND_CORRECTIONS: errors_and_corrections,
    Section.OPEN_ISSUES: open_issues,
}


class ExtractiveModel:
    """Fills in the working-memory tools by rule: same messages and document in, same answer out.

    It reads the structured source of a request, never the prompt, calls no network and refuses nothing.
    """

    def __init__(self, count: TokenCounter) -> None:
        self._count = count

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def model(self) -> str:
        return MODEL

    async def call_tool(self, request: ToolRequest) -> ModelAnswer:
        """Return the arguments of the tool asked for: seven bodies for a creation, seven operations otherwise."""
        if request.tool.name == _CREATE:
            sections: Mapping[str, object] = created_sections(request.source, self._count)
        else:
            sections = updated_sections(request.source, self._count)
        arguments = {"sections": sections} if _wraps_sections(request.tool.parameters) else sections
        content = json.dumps(arguments, ensure_ascii=False)
        return ModelAnswer(content=content, tool_called=True, transport="rules")


def created_sections(source: WorkingMemorySource, count: TokenCounter) -> dict[str, str]:
    """Return seven bodies. A section with nothing to say gets one line in italics that says so, and as of when."""
    conversation = read_conversation(source.messages, count)
    prior = source.document or {}
    bodies: dict[str, str] = {}
    for section in SECTIONS:
        old = prior.get(section, "")
        bodies[section.value] = _body(old, _WRITERS[section](conversation, old)) or _nothing(section, conversation)
    return bodies


def updated_sections(source: WorkingMemorySource, count: TokenCounter) -> dict[str, dict[str, object]]:
    """Return seven operations: KEEP where the messages bring nothing new."""
    conversation = read_conversation(source.messages, count)
    document = source.document or {}
    return {section.value: _as_json(_WRITERS[section](conversation, document.get(section, ""))) for section in SECTIONS}


def _body(old: str, op: SectionOp) -> str:
    match op:
        case Update(content):
            return content
        case Append(items):
            return f"{old.rstrip()}\n{bulleted(items)}"
        case Keep():
            return old


def _as_json(op: SectionOp) -> dict[str, object]:
    match op:
        case Update(content):
            return {"op": op.name, "content": content}
        case Append(items):
            return {"op": op.name, "items": list(items)}
        case Keep():
            return {"op": op.name}


def _nothing(section: Section, conversation: Conversation) -> str:
    wording = conversation.wording
    line = {
        Section.TASK_AND_GOALS: wording.no_goals,
        Section.KEY_FACTS: wording.no_facts,
        Section.FILES_AND_CONTEXT: wording.no_files,
        Section.ERRORS_AND_CORRECTIONS: wording.no_errors,
        Section.OPEN_ISSUES: wording.no_issues,
    }
    return line.get(section, wording.empty).format(day=conversation.day)


def _wraps_sections(parameters: Mapping[str, object]) -> bool:
    properties = parameters.get("properties")
    return isinstance(properties, Mapping) and "sections" in properties
