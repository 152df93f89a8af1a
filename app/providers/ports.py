"""What Cairn asks of a model, whoever answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.prompts import Prompt, SpokenMessage
from app.domain.working_memory.sections import Bodies

__all__ = [
    "ChatModel",
    "ModelAnswer",
    "ModelUsage",
    "Prompt",
    "SpokenMessage",
    "ToolRequest",
    "ToolSpec",
    "WorkingMemorySource",
]


@dataclass(frozen=True, slots=True)
class WorkingMemorySource:
    """The material of one update in structured form, for a provider that reads no prompt.

    document is the prior working memory, None before the first commit.
    """

    document: Bodies | None
    messages: tuple[SpokenMessage, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The one tool a model must call; parameters is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One question to a model: the prompt for those who read, the source for those who compute."""

    purpose: str
    prompt: Prompt
    tool: ToolSpec
    source: WorkingMemorySource
    deadline_seconds: float


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one call cost, in tokens as the service counts them (0 where it does not say)."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What came back, unread.

    content is the raw text of the tool arguments, or of the message where no tool was called (tool_called False).
    transport names how it was asked: forced_tool, auto_tool, json_mode, plain or rules.
    """

    content: str
    tool_called: bool
    transport: str
    usage: ModelUsage = field(default_factory=ModelUsage)


class ChatModel(Protocol):
    """A model that fills in one tool call.

    provider is named in every reply that its work shows up in; model is the name the service knows.

    Raises (from call_tool): ModelUnavailable (worth another attempt), ModelRefused (never worth one).
    """

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def call_tool(self, request: ToolRequest) -> ModelAnswer: ...
