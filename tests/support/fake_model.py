"""A model that says what a test wants, in the order the test wants it, and remembers what it was asked."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from app.domain.errors import AppError, ModelRefused, ModelUnavailable
from app.domain.working_memory.schema import CREATE_TOOL
from app.domain.working_memory.sections import SECTIONS, Section
from app.providers.ports import ModelAnswer, ModelUsage, ToolRequest

Turn: TypeAlias = AppError | str | Callable[[ToolRequest], Awaitable[None]]

UNAVAILABLE = ModelUnavailable("The fake model is down.")
REFUSED = ModelRefused("The fake model refuses.")
UNUSABLE = "no tool, no sections, nothing"


class FakeModel:
    """Takes one turn per call: raises an error, answers with a text, or awaits a function and then answers well.

    When there are no turns left it takes the turn `otherwise`; without one it answers well at once: seven bodies for a
    creation; else the state is rewritten and one fact appended.
    """

    def __init__(self, *turns: Turn, otherwise: Turn | None = None) -> None:
        self.turns = list(turns)
        self.otherwise = otherwise
        self.requests: list[ToolRequest] = []

    @property
    def provider(self) -> str:
        return "fake"

    @property
    def model(self) -> str:
        return "fake-1"

    @property
    def asked(self) -> int:
        return len(self.requests)

    @property
    def heard(self) -> list[str]:
        """Return the newest message of every request, in the order they came."""
        return [request.source.messages[-1].text for request in self.requests]

    async def call_tool(self, request: ToolRequest) -> ModelAnswer:
        self.requests.append(request)
        turn = self.turns.pop(0) if self.turns else self.otherwise
        if isinstance(turn, AppError):
            raise turn
        if isinstance(turn, str):
            return ModelAnswer(turn, tool_called=False, transport="plain", usage=ModelUsage(7, 3))
        if turn is not None:
            await turn(request)
        return ModelAnswer(good_answer(request), tool_called=True, transport="forced_tool", usage=ModelUsage(100, 20))


class Gate:
    """A turn that is held until the test opens it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, request: ToolRequest) -> None:
        self.reached.set()
        await self.opened.wait()


def good_answer(request: ToolRequest) -> str:
    """Return arguments that can be applied; they name the newest message, so that each update is another."""
    newest = request.source.messages[-1]
    if request.tool.name == CREATE_TOOL:
        return json.dumps({section.value: f"- {section.value}: {newest.text}" for section in SECTIONS})
    ops: dict[str, dict[str, object]] = {section.value: {"op": "KEEP"} for section in SECTIONS}
    ops[Section.CURRENT_STATE] = {"op": "UPDATE", "content": f"- after message {newest.seq}: {newest.text}"}
    ops[Section.KEY_FACTS] = {"op": "APPEND", "items": [f"message {newest.seq} said {newest.text}"]}
    return json.dumps({"sections": ops})
