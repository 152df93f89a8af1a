"""No network inside a transaction: a model that refuses to be called while one is open."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from app.providers.ports import ChatModel, ModelAnswer, ToolRequest


class NetworkInsideTransaction(RuntimeError):
    """A programming error: a model was called while a database transaction was open on this task.

    The transaction would hold its connection and its locks for as long as the model thinks.
    """


@runtime_checkable
class HoldsConnections(Protocol):
    """A model that keeps connections open between calls."""

    async def aclose(self) -> None: ...


class GuardedModel:
    """A ChatModel that answers like the one inside it, but never while transaction_open() is true."""

    def __init__(self, inner: ChatModel, transaction_open: Callable[[], bool]) -> None:
        self._inner = inner
        self._transaction_open = transaction_open

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    async def call_tool(self, request: ToolRequest) -> ModelAnswer:
        """Return the answer of the inner model.

        Raises: NetworkInsideTransaction before anything is sent; otherwise what the inner model raises.
        """
        if self._transaction_open():
            raise NetworkInsideTransaction(
                f"{self._inner.provider} was called for {request.purpose} inside a database transaction. "
                "Close the transaction first, call the model, then open a new one to write the result."
            )
        return await self._inner.call_tool(request)

    async def aclose(self) -> None:
        """Close the connections of the inner model, if it holds any."""
        if isinstance(self._inner, HoldsConnections):
            await self._inner.aclose()
