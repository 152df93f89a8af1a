"""The question to the model: how much conversation fits, which tool it has, what it is given to read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.errors import ModelRefused
from app.domain.excerpts import Excerpt, first_lines, fitting
from app.domain.pieces import Piece, next_piece
from app.domain.prompts import Prompt, SpokenMessage
from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.document import render_document
from app.domain.working_memory.items import bullet, read_items
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL, create_parameters, update_parameters
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
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

DOCUMENT_SHARE: Final = 2
"""The document takes at most half of what it shares with the conversation; what is longer is shown in part."""

SMALLEST_ROOM: Final = 200
_TIGHTER: Final = 0.85
_EMPTY: Final[Bodies] = dict.fromkeys(SECTIONS, "")


@dataclass(frozen=True, slots=True)
class Standing:
    """What the next piece builds on: the document so far (None before the first) and what waits outside it.

    earlier: before the first, an overview without sections that the new document is to carry over.
    """

    bodies: Bodies | None
    deferred: Sequence[DeferredItem]
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A piece of the conversation beside the document as the model gets to see it; shown is None before the first."""

    standing: Standing
    shown: Excerpt | None
    piece: Piece

    @property
    def source(self) -> WorkingMemorySource:
        earlier = "\n".join(bullet(item.text) for item in read_items(self.standing.earlier))
        bodies = {Section.KEY_FACTS: earlier} if earlier else self.standing.bodies
        return WorkingMemorySource(bodies, self.piece.messages)

    @property
    def sections_in_part(self) -> tuple[int, ...]:
        """Return the numbers of the sections whose older items the model does not see."""
        return tuple(sorted(section.number for section in self.shown.in_part)) if self.shown else ()


class Questions:
    """Ask in a way that fits the model's window."""

    def __init__(self, count_tokens: TokenCounter, *, window_tokens: int | None, deadline_seconds: float) -> None:
        """window_tokens: the context size of the model, None for one that reads no prompt."""
        self._count_tokens = count_tokens
        self._window = window_tokens
        self._deadline_seconds = deadline_seconds

    def next_question(self, standing: Standing, messages: Sequence[SpokenMessage]) -> Question:
        """Return the question about the messages that fit beside the document.

        Raises: ModelRefused when title, state and goals alone fill the window.
        """
        bodies = standing.bodies
        if self._window is None:
            return Question(standing, Excerpt(bodies) if bodies is not None else None, Piece(tuple(messages), ()))
        most = self._window - min(self._window // REPLY_SHARE, LARGEST_REPLY_TOKENS)
        shown = None
        if standing.earlier:
            shortened = first_lines(standing.earlier, room=most // DOCUMENT_SHARE, count_tokens=self._count_tokens)
            standing = replace(standing, earlier=shortened)
        if bodies is not None:
            shared = most - self._cost(Standing(_EMPTY, ()), Excerpt(_EMPTY), ())
            shown = fitting(bodies, room=shared // DOCUMENT_SHARE, count_tokens=self._count_tokens)
        room = most - self._cost(standing, shown, ())
        while room >= SMALLEST_ROOM:
            piece = next_piece(messages, room=room, count_tokens=self._count_tokens)
            if self._cost(standing, shown, piece.messages) <= most:
                return Question(standing, shown, piece)
            room = int(room * _TIGHTER)  # a conversation costs more in a prompt than its messages by themselves
        raise ModelRefused(
            f"The working memory leaves no room in a window of {self._window} tokens; "
            "use a model with a larger one and set CAIRN_MODEL_CONTEXT_TOKENS."
        )

    def request(self, question: Question) -> ToolRequest:
        """Return what to ask first: create where there is no document, else update."""
        prompt = self._prompt(question.standing, question.shown, question.piece.messages)
        return self._request(question, prompt, CREATE if question.shown is None else UPDATE)

    def second_request(self, question: Question) -> ToolRequest:
        """Return what to ask after an update that could not be read: write all seven, from the old ones."""
        earlier = render_document(question.shown.bodies) if question.shown is not None else ""
        prompt = render_creation(question.piece.messages, tool_name=CREATE_TOOL, earlier_document=earlier)
        return self._request(question, prompt, CREATE)

    def _request(self, question: Question, prompt: Prompt, tool: ToolSpec) -> ToolRequest:
        return ToolRequest(STEP, prompt, tool, question.source, self._deadline_seconds)

    def _cost(self, standing: Standing, shown: Excerpt | None, messages: Sequence[SpokenMessage]) -> int:
        """Return the tokens of a request, its tool included. The second question about a piece never costs more."""
        prompt = self._prompt(standing, shown, messages)
        tool = CREATE if shown is None else UPDATE
        return sum(map(self._count_tokens, (prompt.system, prompt.user, json.dumps(dict(tool.parameters)))))

    def _prompt(self, standing: Standing, shown: Excerpt | None, messages: Sequence[SpokenMessage]) -> Prompt:
        if standing.bodies is None or shown is None:
            return render_creation(messages, tool_name=CREATE_TOOL, earlier_document=standing.earlier)
        oversized = [size.section for size in size_warnings(standing.bodies, self._count_tokens)]
        return render_update(
            shown.bodies,
            messages,
            tool_name=UPDATE_TOOL,
            sizes={size.section: size for size in section_sizes(standing.bodies, self._count_tokens)},
            oversized=[section for section in oversized if section not in shown.in_part],
            deferred=self._shown_deferred(standing.deferred),
        )

    def _shown_deferred(self, deferred: Sequence[DeferredItem]) -> list[str]:
        """Return the newest items that wait, within their share of the window, in the order they came.

        An item that only stands reworded in the document is no news to a model.
        """
        left = (self._window or 0) // DEFERRED_SHARE if self._window is not None else LARGEST_REPLY_TOKENS
        shown: list[str] = []
        waiting = [item for item in deferred if item.reason != DeferralReason.REWORDED]
        for item in reversed(waiting[-MOST_DEFERRED:]):
            left -= self._count_tokens(item.text)
            if left < 0:
                break
            shown.append(item.text)
        return shown[::-1]
