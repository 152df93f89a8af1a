"""How a long-running command learns that it should end."""

import asyncio
import signal
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from app.cli.terminal import out


def leave_on_sigterm() -> None:
    """Make SIGTERM unwind like Ctrl-C, so that what was started is ended, also before and after the event loop."""
    signal.signal(signal.SIGTERM, _leave)


def stop_on_signals() -> asyncio.Event:
    """Return an event of the running loop that SIGINT and SIGTERM set, and say so when it is set by one.

    A second signal cancels the running task.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def on_signal() -> None:
        if not stop.is_set():
            out.print("Stopping …")
        elif task is not None:
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    return stop


async def pause_unless_stopped(seconds: float, stop: asyncio.Event) -> None:
    """Wait some seconds, or less when `stop` is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
