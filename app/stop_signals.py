"""SIGINT and SIGTERM, which end a running program in order."""

from __future__ import annotations

import asyncio
import signal

WINDOWS_POLL_S = 0.25


def set_on_signals(stop: asyncio.Event) -> None:
    """Set `stop` when one of them arrives, while the loop that runs now does."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:
            # Windows: Python handles the signal only between steps of the loop, so the loop has to keep running.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
            _keep_stepping(loop)


def _keep_stepping(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_later(WINDOWS_POLL_S, _keep_stepping, loop)
