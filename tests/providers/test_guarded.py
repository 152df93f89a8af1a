"""No network inside a transaction."""

import pytest

from app.providers.extractive.model import ExtractiveModel
from app.providers.guarded import GuardedModel, NetworkInsideTransaction
from app.providers.openai_compatible import OpenAICompatibleModel
from tests.support.model_requests import conversation, update_request
from tests.support.model_server import ModelServer


async def test_a_model_is_not_called_while_a_transaction_is_open(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    guarded = GuardedModel(model, lambda: True)
    with pytest.raises(NetworkInsideTransaction, match="working_memory"):
        await guarded.call_tool(update_request())
    assert model_server.calls == []


async def test_outside_a_transaction_the_answer_is_the_inner_models(model: OpenAICompatibleModel) -> None:
    guarded = GuardedModel(model, lambda: False)
    assert (guarded.provider, guarded.model) == ("openai_compatible", "harbour-1")
    assert (await guarded.call_tool(update_request())).tool_called


async def test_the_rules_obey_the_same_guard() -> None:
    open_now = [True]
    guarded = GuardedModel(ExtractiveModel(len), lambda: open_now[0])
    request = update_request(conversation(("user", "We decided to use PostgreSQL.")))
    with pytest.raises(NetworkInsideTransaction):
        await guarded.call_tool(request)
    open_now[0] = False
    assert (await guarded.call_tool(request)).transport == "rules"


async def test_closing_the_guard_closes_the_connections_inside(model_server: ModelServer) -> None:
    inner = OpenAICompatibleModel(model="m", base_url=model_server.base_url)
    guarded = GuardedModel(inner, lambda: False)
    await guarded.call_tool(update_request())
    await guarded.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await inner.call_tool(update_request())
    await GuardedModel(ExtractiveModel(len), lambda: False).aclose()
