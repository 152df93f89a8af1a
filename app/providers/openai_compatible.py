"""A model behind an OpenAI-compatible HTTP API, asked in the most reliable way that its service takes."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

import openai
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from app.domain.errors import ModelUnavailable
from app.providers.capabilities import CapabilitiesInMemory, Capability, CapabilityStore, Transport, simple_schema
from app.providers.chat_answers import read_completion
from app.providers.chat_errors import is_about_context, meaning, refusal_text
from app.providers.ports import ModelAnswer, ToolRequest

PROVIDER: Final = "openai_compatible"

_CONNECT_SECONDS: Final = 10.0
_CONNECTION_ATTEMPTS: Final = 3
_LONGEST_PAUSE_SECONDS: Final = 1.0
# Forced tool → no oneOf → auto → JSON mode → plain, and once without a system message.
_MOST_STEPS: Final = 6
# A key is required by the client library; services without keys ignore it. Never the one in the environment, which
# would go to whatever address is configured.
_NO_KEY: Final = "none"

_JSON_INSTRUCTION: Final = (
    "There is no tool to call here. Answer with one JSON object and nothing before or after it: the arguments of "
    "`{name}`. It has to fit this JSON schema:\n{schema}"
)


class OpenAICompatibleModel:
    """Asks for a tool call; steps down to JSON in the text where the service refuses tools, and remembers that.

    Nothing it logs or raises contains prompts, answers or keys.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 120.0,
        capabilities: CapabilityStore | None = None,
    ) -> None:
        """timeout_seconds is the longest wait for one answer; each request brings the deadline of the whole call."""
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._capabilities = capabilities or CapabilitiesInMemory()
        self._client = openai.AsyncOpenAI(
            api_key=api_key or _NO_KEY,
            base_url=base_url,
            max_retries=0,
            timeout=openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
        )
        self._service = str(self._client.base_url.copy_with(userinfo=b"", query=None))

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def model(self) -> str:
        return self._model

    @property
    def service(self) -> str:
        """The address of the service, without user, password and query: a name that can be written down."""
        return self._service

    async def aclose(self) -> None:
        """Close the connections to the service."""
        await self._client.close()

    async def call_tool(self, request: ToolRequest) -> ModelAnswer:
        """Return what the model answered, in at most request.deadline_seconds.

        Raises: ModelUnavailable for timeouts, lost connections, 408, 409, 425, 429, 5xx and answers that are no
        completion, with the wait the service asked for; ModelRefused for every other refusal.
        """
        try:
            async with asyncio.timeout(request.deadline_seconds):
                return await self._ask(request)
        except TimeoutError:
            raise ModelUnavailable(
                f"The model did not answer within {request.deadline_seconds:g} seconds.", {"reason": "deadline"}
            ) from None

    async def _ask(self, request: ToolRequest) -> ModelAnswer:
        known = await self._capabilities.recall(self._service, self._model)
        capability = known or Capability()
        for _ in range(_MOST_STEPS):
            try:
                body = await self._post(self._payload(request, capability))
            except openai.APIStatusError as error:
                next_way = _next_way(error, capability)
                if next_way is None:
                    raise meaning(error) from None
                capability = next_way
                continue
            answer = read_completion(body, request.tool.name, capability.transport)
            learnt = capability.after_answer(tool_called=answer.tool_called)
            if learnt != known:
                await self._capabilities.remember(self._service, self._model, learnt)
            return answer
        raise ModelUnavailable("The model service refused every way of asking for JSON.", {"reason": "no_transport"})

    async def _post(self, payload: dict[str, Any]) -> str:
        """Return the body of the answer. Connections that break are tried again; timeouts and refusals are not."""
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception(_is_broken_connection),
                stop=stop_after_attempt(_CONNECTION_ATTEMPTS),
                wait=wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE_SECONDS),
                reraise=True,
            ):
                with attempt:
                    async with asyncio.timeout(self._timeout_seconds):
                        response = await self._client.chat.completions.with_raw_response.create(**payload)
                        return str(response.text)
        except (openai.APITimeoutError, TimeoutError):
            raise ModelUnavailable(
                f"The model service did not answer within {self._timeout_seconds:g} seconds.", {"reason": "timeout"}
            ) from None
        except openai.APIConnectionError:
            raise ModelUnavailable(
                "The model service cannot be reached or dropped the connection.", {"reason": "connection"}
            ) from None
        raise AssertionError("unreachable: the retry loop returns or raises")

    def _payload(self, request: ToolRequest, capability: Capability) -> dict[str, Any]:
        system = request.prompt.system
        parameters = request.tool.parameters if capability.one_of else simple_schema(request.tool.parameters)
        extra: dict[str, Any] = {}
        if capability.transport.offers_tool:
            extra = _tool_arguments(request, parameters, forced=capability.transport is Transport.FORCED_TOOL)
        else:
            schema = json.dumps(parameters, ensure_ascii=False)
            system += "\n\n" + _JSON_INSTRUCTION.format(name=request.tool.name, schema=schema)
        if capability.transport is Transport.JSON_MODE:
            extra = {"response_format": {"type": "json_object"}}
        return {"model": self._model, "messages": _messages(system, request.prompt.user, capability), **extra}


def _messages(system: str, user: str, capability: Capability) -> list[dict[str, str]]:
    if not capability.system_role:
        return [{"role": "user", "content": f"{system}\n\n{user}"}]
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _tool_arguments(request: ToolRequest, parameters: Mapping[str, object], *, forced: bool) -> dict[str, Any]:
    function = {"name": request.tool.name, "description": request.tool.description, "parameters": dict(parameters)}
    choice: object = {"type": "function", "function": {"name": request.tool.name}} if forced else "auto"
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def _next_way(error: openai.APIStatusError, capability: Capability) -> Capability | None:
    """Return another way to ask, when the service refused a feature rather than the request."""
    if error.status_code not in {400, 404, 405, 415, 422, 500, 501}:
        return None
    text = refusal_text(error)
    return None if is_about_context(text) else capability.after_refusal(text)


def _is_broken_connection(error: BaseException) -> bool:
    return isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
