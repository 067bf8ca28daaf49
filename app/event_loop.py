"""What is around an event loop: the signals that end it, and a thread of its own for a caller that blocks."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.25
"""How often a wait for a thread is left to look for Ctrl-C: pressed just as the wait begins, or on Windows, it does not
end the wait by itself."""


def set_on_signals(stop: asyncio.Event) -> None:
    """Set `stop` when SIGINT or SIGTERM arrives, while the loop that runs now does."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:
            # Windows: Python handles the signal only between steps of the loop, so the loop has to keep running.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
            _keep_stepping(loop)


def _keep_stepping(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_later(POLL_S, _keep_stepping, loop)


@contextmanager
def opened_on_thread(opening: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """What `opening` opens, on an event loop in another thread, until the end. Ctrl-C while it is opened cancels that;
    it is closed in order in any case, and only a second Ctrl-C does not wait for it."""
    loop, closing = asyncio.new_event_loop(), asyncio.Event()
    task: asyncio.Task[None] | None = None
    opened: list[T] = []
    failed: list[BaseException] = []
    ready = SimpleQueue[None]()  # not a future: Ctrl-C can leave its lock taken, for which the thread would wait

    async def hold() -> None:
        nonlocal task
        task = asyncio.current_task()
        if not closing.is_set():
            async with opening() as resource:
                opened.append(resource)
                ready.put(None)
                await closing.wait()

    def close() -> None:
        closing.set()
        if task is not None and not opened:
            task.cancel()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(hold())
        except BaseException as error:  # whatever it is, the caller raises it
            failed.append(error)
        ready.put(None)

    thread = threading.Thread(target=run, name="event loop", daemon=True)
    try:
        _start(thread)
        while not (opened or failed):
            with suppress(Empty):
                ready.get(timeout=POLL_S)
        if opened:
            yield opened[0]
    finally:
        with suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(close)
        _join(thread)
    if failed:
        raise failed[0]


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:
        # Ctrl-C as `start` is about to take a lock again, which it then releases without having it.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise


def _join(thread: threading.Thread) -> None:
    while thread.is_alive():
        thread.join(POLL_S)
