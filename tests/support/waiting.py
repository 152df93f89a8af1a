"""Waiting in asynchronous tests: poll a condition until a deadline, never for a fixed time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.support.processes import PATIENCE

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T]], what: str, seconds: float = 20.0) -> T:
    """Return the first true value that `look` gives. Raises TimeoutError naming what was waited for."""
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        value = await look()
        if value:
            return value
        await asyncio.sleep(0.02)
    raise TimeoutError(f"{what} did not happen within {seconds * PATIENCE:.0f} s")
