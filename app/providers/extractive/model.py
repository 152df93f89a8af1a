"""The model of last resort and of first contact: rules instead of a network, named as what they are."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.merge import applied
from app.domain.working_memory.operations import SectionOp, op_document
from app.domain.working_memory.resolution import is_settled
from app.domain.working_memory.schema import CREATE_TOOL
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.providers.extractive.conversation import Conversation, read_conversation
from app.providers.extractive.errors import errors_and_corrections
from app.providers.extractive.facts import key_facts
from app.providers.extractive.goals import task_and_goals
from app.providers.extractive.issues import open_issues
from app.providers.extractive.items import items_of
from app.providers.extractive.references import files_and_context
from app.providers.extractive.state import current_state
from app.providers.extractive.title import session_title
from app.providers.ports import ModelAnswer, ToolRequest, WorkingMemorySource

PROVIDER: Final = "extractive"
MODEL: Final = "rules-1"

# The lists that may want the same sentence, in the order of who gets it; each is told what the others have. A goal with
# a date or a sum in it is a fact as well, and what settled an issue is one after the issue is gone.
_LISTS: Final[Mapping[Section, Callable[[Conversation, str, Sequence[str]], SectionOp]]] = {
    Section.ERRORS_AND_CORRECTIONS: errors_and_corrections,
    Section.OPEN_ISSUES: open_issues,
    Section.TASK_AND_GOALS: task_and_goals,
    Section.KEY_FACTS: key_facts,
}
_SHARING: Final = {
    Section.KEY_FACTS: (Section.TASK_AND_GOALS,),
    Section.TASK_AND_GOALS: (Section.KEY_FACTS,),
}
_OTHERS: Final[Mapping[Section, Callable[[Conversation, str], SectionOp]]] = {
    Section.SESSION_TITLE: session_title,
    Section.CURRENT_STATE: current_state,
    Section.FILES_AND_CONTEXT: files_and_context,
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
        # Some milliseconds per thousand words: in a thread, so that a long archive holds up nobody's heartbeat.
        content = await asyncio.to_thread(self._answer, request)
        return ModelAnswer(content=content, tool_called=True, transport="rules")

    def _answer(self, request: ToolRequest) -> str:
        arguments: Mapping[str, object]
        if request.tool.name == CREATE_TOOL:
            arguments = created_sections(request.source, self._count)
        else:
            arguments = {"sections": updated_sections(request.source, self._count)}
        return json.dumps(arguments, ensure_ascii=False)


def created_sections(source: WorkingMemorySource, count: TokenCounter) -> dict[str, str]:
    """Return seven bodies. A section with nothing to say gets one line in italics that says so, and as of when."""
    conversation = read_conversation(source.messages, count)
    document = source.document or {}
    ops = _operations(conversation, document)
    bodies = {section: applied(document.get(section, ""), ops[section]) for section in SECTIONS}
    return {section.value: bodies[section] or _nothing(section, conversation) for section in SECTIONS}


def updated_sections(source: WorkingMemorySource, count: TokenCounter) -> dict[str, dict[str, object]]:
    """Return seven operations: KEEP where the messages bring nothing new."""
    ops = _operations(read_conversation(source.messages, count), source.document or {})
    return {section.value: op_document(ops[section]) for section in SECTIONS}


def _operations(conversation: Conversation, document: Bodies) -> dict[Section, SectionOp]:
    """Return an operation per section."""
    ops = {section: write(conversation, document.get(section, "")) for section, write in _OTHERS.items()}
    items = {section: items_of(document.get(section, "")) for section in _LISTS}
    for section, write_list in _LISTS.items():
        old = document.get(section, "")
        taken = [
            item for other in _LISTS if other not in {section, *_SHARING.get(section, ())} for item in items[other]
        ]
        ops[section] = write_list(conversation, old, [item for item in taken if not is_settled(item)])
        items[section] = items_of(applied(old, ops[section]))
    return ops


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
