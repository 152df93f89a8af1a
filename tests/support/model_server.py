"""A fake OpenAI-compatible service on loopback that does what a script says and writes down what it was asked.

In a test: `with running_model_server() as server:` or `async with`-free in a fixture. As a process:
`python -m tests.support.model_server --port 8081`, then

    POST /script   {"behaviours": [{"kind": "status", "code": 429}], "for": "update_working_memory", "reset": false}
    GET  /calls    what was asked so far

`for` names the tool (or "embeddings") whose next calls the behaviours are for; without it they are for any call.
"""

import argparse
import asyncio
import json
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from tests.support.model_answers import embedding, prompt_of, tokens, tool_of
from tests.support.model_behaviours import LASTING, Behaviour, error
from tests.support.model_http import HttpRequest, Reply, read_request, write_reply
from tests.support.model_replies import feature_refusal, reply_to

ANY = "*"
DIMENSIONS = 64


@dataclass(frozen=True)
class Call:
    """One request the server was sent. kind is the tool it asks for, `embeddings`, or ''."""

    kind: str
    prompt: str
    prompt_tokens: int
    size: int
    headers: Mapping[str, str]
    request: Mapping[str, Any]
    behaviour: str


class ModelServer:
    """The service and its script. Everything but start and stop may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, deque[Behaviour]] = {}
        self._calls: list[Call] = []
        self._limit: int | None = None
        self._refused: tuple[str, ...] = ()
        self._server: asyncio.Server | None = None
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> list[Call]:
        """What was asked since the last reset."""
        with self._lock:
            return list(self._calls)

    def script(self, *behaviours: Behaviour, kind: str = ANY) -> None:
        """Queue behaviours for the next calls of a kind; lasting ones take effect at once."""
        with self._lock:
            for behaviour in behaviours:
                if behaviour.kind == "limit":
                    self._limit = int(behaviour.get("tokens"))
                elif behaviour.kind == "refuse":
                    self._refused = tuple(behaviour.get("features"))
                else:
                    self._queues.setdefault(kind, deque()).append(behaviour)

    def reset(self) -> None:
        """Forget script and calls."""
        with self._lock:
            self._queues.clear()
            self._calls.clear()
            self._limit, self._refused = None, ()

    async def start(self, port: int = 0) -> None:
        """Listen on a loopback port, a free one for 0."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, break off what hangs, and wait until every connection is closed."""
        assert self._server is not None
        self._stopping.set()
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while (request := await read_request(reader)) is not None:
                    if not await write_reply(writer, await self._reply(request), self._stopping):
                        break
        except asyncio.CancelledError:
            # Only stop() cancels; the stream protocol would report it as an unhandled error.
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _reply(self, request: HttpRequest) -> Reply:
        match request.method, request.path.split("?")[0]:
            case "POST", "/v1/chat/completions":
                return self._chat(request)
            case "POST", "/v1/embeddings":
                return self._embeddings(request)
            case "GET", "/v1/models":
                return Reply.json(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})
            case "POST", "/script":
                return self._take_script(request)
            case "GET", "/calls":
                return Reply.json(200, {"count": len(self.calls), "calls": [asdict(call) for call in self.calls]})
            case _:
                return Reply.json(404, error(f"No such route: {request.method} {request.path}"))

    def _take_script(self, request: HttpRequest) -> Reply:
        try:
            wanted = json.loads(request.body or b"{}")
            behaviours = [Behaviour.from_json(value) for value in wanted.get("behaviours", [])]
        except (ValueError, KeyError, AttributeError, TypeError) as problem:
            return Reply.json(400, error(f"Not a script: {problem}"))
        if wanted.get("reset"):
            self.reset()
        self.script(*behaviours, kind=str(wanted.get("for", ANY)))
        return Reply.json(200, {"queued": len([b for b in behaviours if b.kind not in LASTING])})

    def _chat(self, request: HttpRequest) -> Reply:
        asked = json.loads(request.body)
        kind, prompt = tool_of(asked), prompt_of(asked)
        refusal = self._lasting_refusal(asked, prompt)
        if refusal is not None:
            self._record(kind, prompt, request, asked, "refused")
            return refusal
        behaviour = self._next(kind)
        self._record(kind, prompt, request, asked, behaviour.kind)
        return reply_to(behaviour, asked)

    def _embeddings(self, request: HttpRequest) -> Reply:
        asked = json.loads(request.body)
        behaviour = self._next("embeddings")
        self._record("embeddings", prompt_of(asked), request, asked, behaviour.kind)
        if behaviour.kind != "ok":
            return reply_to(behaviour, asked)
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        size = int(asked.get("dimensions") or DIMENSIONS)
        data = [{"object": "embedding", "index": i, "embedding": embedding(t, size)} for i, t in enumerate(texts)]
        usage = {"prompt_tokens": tokens(prompt_of(asked)), "total_tokens": tokens(prompt_of(asked))}
        return Reply.json(200, {"object": "list", "model": "fake", "data": data, "usage": usage})

    def _lasting_refusal(self, asked: Mapping[str, Any], prompt: str) -> Reply | None:
        with self._lock:
            limit, refused = self._limit, self._refused
        if limit is not None and tokens(prompt) > limit:
            text = f"This model's maximum context length is {limit} tokens"
            return Reply.json(400, error(text, "context_length_exceeded"))
        refusal = feature_refusal(asked, refused)
        return Reply.json(400, refusal) if refusal else None

    def _next(self, kind: str) -> Behaviour:
        with self._lock:
            for queue in (self._queues.get(kind), self._queues.get(ANY)):
                if queue:
                    return queue.popleft()
        return Behaviour("ok")

    def _record(self, kind: str, prompt: str, request: HttpRequest, asked: Mapping[str, Any], behaviour: str) -> None:
        call = Call(kind, prompt, tokens(prompt), len(request.body), request.headers, asked, behaviour)
        with self._lock:
            self._calls.append(call)


@contextmanager
def running_model_server(port: int = 0) -> Iterator[ModelServer]:
    """Run a server in a thread of its own for the length of the block."""
    started = threading.Event()
    running: dict[str, Any] = {}

    async def serve() -> None:
        server = ModelServer()
        stop = asyncio.Event()
        try:
            await server.start(port)
            running.update(server=server, stop=stop, loop=asyncio.get_running_loop())
        finally:
            started.set()
        await stop.wait()
        await server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="fake-model-server")
    thread.start()
    started.wait()
    if "server" not in running:
        thread.join()
        raise OSError(f"the fake model server could not listen on port {port}")
    try:
        yield running["server"]
    finally:
        running["loop"].call_soon_threadsafe(running["stop"].set)
        thread.join()


async def _serve_until_stopped(port: int) -> None:
    server = ModelServer()
    await server.start(port)
    print(f"fake model service on {server.base_url}", flush=True)
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await stop.wait()
    await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible model service on loopback.")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; a free one by default")
    asyncio.run(_serve_until_stopped(parser.parse_args().port))
