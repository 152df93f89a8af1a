"""Leaving a model service alone that keeps failing: nobody waits for its timeouts, and it can recover."""

from datetime import timedelta
from typing import Final, Protocol

from app.domain.errors import AppError, ModelPaused, ModelUnavailable
from app.providers.ports import ChatModel, ModelAnswer, ToolRequest

FAILURES_ALLOWED: Final = 5
"""So many failures in a row, of all processes together, open the breaker."""

FIRST_PAUSE: Final = timedelta(seconds=30)
LONGEST_PAUSE: Final = timedelta(minutes=5)


class ModelService(Protocol):
    """A model that knows by which name its service is to be remembered."""

    @property
    def service(self) -> str: ...


class ServiceModel(ChatModel, ModelService, Protocol):
    """A model behind a service."""

    async def aclose(self) -> None: ...


class BreakerStore(Protocol):
    """Where the failures of services are counted, for all processes."""

    async def pause_seconds(self, service: str, model: str) -> float:
        """Return how long to leave a service alone, 0.0 for not at all.

        When a pause is over, one caller is told 0.0 and tries; the others wait for what it finds.
        """
        ...

    async def note_failure(self, service: str, model: str) -> None: ...

    async def note_success(self, service: str, model: str) -> None: ...


class BreakingModel:
    """A ChatModel that answers like the one inside it, and is silent for a while when that keeps failing."""

    def __init__(self, inner: ServiceModel, store: BreakerStore) -> None:
        self._inner = inner
        self._store = store

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    async def aclose(self) -> None:
        """Close the connections of the inner model."""
        await self._inner.aclose()

    async def call_tool(self, request: ToolRequest) -> ModelAnswer:
        """Return the answer of the inner model.

        Raises: ModelPaused before anything is sent, with the seconds that are left; else what the inner model raises.
        """
        key = self._inner.service, self._inner.model
        pause = await self._store.pause_seconds(*key)
        if pause > 0:
            raise ModelPaused(
                f"The model service failed {FAILURES_ALLOWED} times in a row and is left alone for a while.",
                {"reason": "paused"},
                retry_after_seconds=pause,
            )
        try:
            answer = await self._inner.call_tool(request)
        except ModelUnavailable:
            await self._store.note_failure(*key)
            raise
        except AppError:
            await self._store.note_success(*key)  # it answered, if only with a refusal
            raise
        await self._store.note_success(*key)
        return answer
