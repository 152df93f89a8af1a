"""A load client that costs next to nothing: requests are bytes made beforehand, connections are raw and kept open."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

HEADER_END = b"\r\n\r\n"
LENGTH = b"content-length: "
PATIENCE_SECONDS = 30.0


@dataclass
class Load:
    """What a run came to; latencies in seconds, one per answered request."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    refusals: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0


def post(url: str, path: str, body: bytes) -> bytes:
    """Return the bytes of one POST request of JSON."""
    host = urlsplit(url).netloc
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def run_load(url: str, requests: Sequence[bytes], *, connections: int, seconds: float, at_most: int) -> Load:
    """Send randomly chosen requests over some connections, each waiting for its answer, for a time or a number."""
    load, loop = Load(), asyncio.get_running_loop()
    address = urlsplit(url)
    deadline = time.perf_counter() + seconds
    finished = [loop.create_future() for _ in range(connections)]
    share = -(-at_most // connections)
    started = time.perf_counter()
    for number, done in enumerate(finished):
        dice = random.Random(number)
        await loop.create_connection(
            lambda dice=dice, done=done: _Connection(load, requests, dice, deadline, share, done),
            address.hostname,
            address.port,
        )
    async with asyncio.timeout(seconds + PATIENCE_SECONDS):
        await asyncio.gather(*finished)
    load.seconds = time.perf_counter() - started
    return load


class _Connection(asyncio.Protocol):
    """One request after the other until the deadline."""

    def __init__(
        self,
        load: Load,
        requests: Sequence[bytes],
        dice: random.Random,
        deadline: float,
        share: int,
        done: asyncio.Future[None],
    ) -> None:
        self._load, self._requests, self._dice = load, requests, dice
        self._deadline, self._left, self._done = deadline, share, done
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not _is_whole(self._buffer):
            return
        now = time.perf_counter()
        self._load.latencies.append(now - self._sent_at)
        if not self._buffer.startswith(b"HTTP/1.1 200"):
            self._load.refusals.append(self._buffer)
        self._buffer = b""
        self._left -= 1
        if now >= self._deadline or self._left <= 0:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and not self._done.done():
            self._done.set_exception(error)
        elif not self._done.done():
            self._done.set_result(None)

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._dice.choice(self._requests))


def _is_whole(answer: bytes) -> bool:
    head = answer.find(HEADER_END)
    if head < 0:
        return False
    at = answer.lower().find(LENGTH, 0, head)
    length = int(answer[at + len(LENGTH) : answer.index(b"\r\n", at)]) if at >= 0 else 0
    return len(answer) >= head + len(HEADER_END) + length
