"""The question to the model: how much conversation fits, which tool it has, what it is given to read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import ModelRefused
from app.domain.pieces import Piece, next_piece
from app.domain.prompts import Prompt, SpokenMessage
from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import render_document
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL, create_parameters, update_parameters
from app.domain.working_memory.sections import Bodies
from app.domain.working_memory.sizes import section_sizes, size_warnings
from app.prompts.working_memory import render_creation, render_update
from app.providers.ports import ToolRequest, ToolSpec, WorkingMemorySource

STEP: Final = "working_memory"
CREATE: Final = ToolSpec(CREATE_TOOL, "Write the seven sections of a new working memory.", create_parameters())
UPDATE: Final = ToolSpec(
    UPDATE_TOOL,
    "Say for each of the seven sections whether it stays, is replaced or gains items.",
    update_parameters(),
)
REPLY_SHARE: Final = 4
LARGEST_REPLY_TOKENS: Final = 16_000
"""A quarter of the window, at most 16,000 tokens, stays free for the answer."""

DEFERRED_SHARE: Final = 20
MOST_DEFERRED: Final = 50
"""Facts that wait take at most a twentieth of the window, and are at most fifty, the newest ones."""

SMALLEST_ROOM: Final = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """What the next piece builds on: the document so far (None before the first) and what waits outside it."""

    bodies: Bodies | None
    deferred: Sequence[DeferredItem]


class Questions:
    """Ask in a way that fits the model's window."""

    def __init__(self, count_tokens: TokenCounter, *, window_tokens: int | None, deadline_seconds: float) -> None:
        """window_tokens: the context size of the model, None for one that reads no prompt."""
        self._count_tokens = count_tokens
        self._window = window_tokens
        self._deadline_seconds = deadline_seconds

    def next_piece(self, standing: Standing, messages: Sequence[SpokenMessage]) -> Piece:
        """Return the messages that fit beside the document.

        Raises: ModelRefused when the document alone fills the window.
        """
        if self._window is None:
            return Piece(tuple(messages), ())
        empty = self._prompt(standing, ())
        tool = UPDATE if standing.bodies is not None else CREATE
        taken = sum(map(self._count_tokens, (empty.system, empty.user, json.dumps(dict(tool.parameters)))))
        room = self._window - min(self._window // REPLY_SHARE, LARGEST_REPLY_TOKENS) - taken
        if room < SMALLEST_ROOM:
            raise ModelRefused(
                f"The working memory leaves no room in a window of {self._window} tokens; "
                "use a model with a larger one and set CAIRN_MODEL_CONTEXT_TOKENS."
            )
        return next_piece(messages, room=room, count_tokens=self._count_tokens)

    def request(self, standing: Standing, piece: Piece) -> ToolRequest:
        """Return the question about one piece: create where there is no document, else update."""
        tool = UPDATE if standing.bodies is not None else CREATE
        source = WorkingMemorySource(standing.bodies, piece.messages)
        return ToolRequest(STEP, self._prompt(standing, piece.messages), tool, source, self._deadline_seconds)

    def second_request(self, standing: Standing, piece: Piece) -> ToolRequest:
        """Return the question after an update that could not be read: write all seven, from the old ones."""
        earlier = render_document(standing.bodies) if standing.bodies is not None else ""
        prompt = render_creation(piece.messages, tool_name=CREATE_TOOL, earlier_document=earlier)
        source = WorkingMemorySource(standing.bodies, piece.messages)
        return ToolRequest(STEP, prompt, CREATE, source, self._deadline_seconds)

    def _prompt(self, standing: Standing, messages: Sequence[SpokenMessage]) -> Prompt:
        if standing.bodies is None:
            return render_creation(messages, tool_name=CREATE_TOOL)
        sizes = {size.section: size for size in section_sizes(standing.bodies, self._count_tokens)}
        return render_update(
            standing.bodies,
            messages,
            tool_name=UPDATE_TOOL,
            sizes=sizes,
            oversized=[size.section for size in size_warnings(standing.bodies, self._count_tokens)],
            deferred=self._shown_deferred(standing.deferred),
        )

    def _shown_deferred(self, deferred: Sequence[DeferredItem]) -> list[str]:
        """Return the newest items that wait, within their share of the window, in the order they came."""
        left = (self._window or 0) // DEFERRED_SHARE if self._window is not None else LARGEST_REPLY_TOKENS
        shown: list[str] = []
        for item in reversed(deferred[-MOST_DEFERRED:]):
            left -= self._count_tokens(item.text)
            if left < 0:
                break
            shown.append(item.text)
        return shown[::-1]
