"""What is around an event loop: the signals that end it, and a thread of its own for a caller that blocks."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

WINDOWS_POLL_S = 0.25


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
    loop.call_later(WINDOWS_POLL_S, _keep_stepping, loop)


@contextmanager
def opened_on_thread(opening: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """What `opening` opens, on an event loop in another thread, until the end."""
    with asyncio.Runner() as runner:
        loop, begun = runner.get_loop(), list[asyncio.Task[Any]]()
        thread = threading.Thread(target=loop.run_forever, name="event loop", daemon=True)
        thread.start()

        async def noted(work: Coroutine[Any, Any, R]) -> R:
            task = asyncio.current_task()
            assert task is not None
            begun.append(task)
            return await work

        def wait(work: Coroutine[Any, Any, R]) -> R:
            running = asyncio.run_coroutine_threadsafe(noted(work), loop)
            try:
                return running.result()
            except BaseException:  # of Ctrl-C, too
                running.cancel()
                raise

        try:
            context = opening()
            opened = wait(context.__aenter__())
            try:
                yield opened
            finally:
                wait(context.__aexit__(*sys.exc_info()))
        finally:
            try:
                if begun:  # what Ctrl-C has cancelled closes what it has opened
                    wait(_ended(tuple(begun)))
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()


async def _ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks)
