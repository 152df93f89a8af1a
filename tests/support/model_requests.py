"""Requests to a ChatModel as the services make them, for tests."""

from collections.abc import Sequence

from app.domain.prompts import Prompt, SpokenMessage
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL, create_parameters, update_parameters
from app.domain.working_memory.sections import Bodies
from app.providers.ports import ToolRequest, ToolSpec, WorkingMemorySource

CONVERSATION = """<conversation>
[1] 2031-04-09T10:00:00Z Ana (user): We moved the tide tables to harbour/tides.py.
[2] 2031-04-09T10:01:00Z assistant: Is port 5433 free?
</conversation>"""


def update_request(
    messages: Sequence[SpokenMessage] = (),
    *,
    document: Bodies | None = None,
    user: str = CONVERSATION,
    deadline_seconds: float = 20.0,
) -> ToolRequest:
    """Return a request for the operations of an update."""
    return ToolRequest(
        purpose="working_memory",
        prompt=Prompt("Keep the working memory.", user, "digest"),
        tool=ToolSpec(UPDATE_TOOL, "Update it.", update_parameters()),
        source=WorkingMemorySource(document, tuple(messages)),
        deadline_seconds=deadline_seconds,
    )


def create_request(messages: Sequence[SpokenMessage] = (), *, deadline_seconds: float = 20.0) -> ToolRequest:
    """Return a request for the seven sections of a new document."""
    return ToolRequest(
        purpose="working_memory",
        prompt=Prompt("Write the working memory.", CONVERSATION, "digest"),
        tool=ToolSpec(CREATE_TOOL, "Write it.", create_parameters()),
        source=WorkingMemorySource(None, tuple(messages)),
        deadline_seconds=deadline_seconds,
    )


def conversation(*turns: tuple[str, str], day: str = "2031-04-09", first_seq: int = 1) -> list[SpokenMessage]:
    """Return messages of (role, text) or (name, text): other roles than user and assistant are names of users."""
    messages: list[SpokenMessage] = []
    for number, (who, text) in enumerate(turns):
        named = who not in {"user", "assistant", "tool", "system"}
        role = "user" if named else who
        said_at = f"{day}T10:{number % 60:02d}:00Z"
        messages.append(SpokenMessage(first_seq + number, role, who if named else None, said_at, text))
    return messages
