"""A fake model service for the tests that talk HTTP to one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.providers.openai_compatible import OpenAICompatibleModel
from tests.support.model_server import ModelServer, running_model_server

API_KEY = "sk-very-secret"


@pytest.fixture(scope="module")
def _shared_model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


@pytest.fixture
def model_server(_shared_model_server: ModelServer) -> ModelServer:
    """A service without script and calls."""
    _shared_model_server.reset()
    return _shared_model_server


@pytest.fixture
async def model(model_server: ModelServer) -> AsyncIterator[OpenAICompatibleModel]:
    """A model behind that service, which gives up on an answer after half a second."""
    model = OpenAICompatibleModel(
        model="harbour-1", base_url=model_server.base_url, api_key=API_KEY, timeout_seconds=0.5
    )
    yield model
    await model.aclose()
