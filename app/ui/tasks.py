"""Runs the window's background tasks, keeps references to them, and tells the user when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from app.core.errors import HooklineError
from app.ui.messages import Message, Messages

log = logging.getLogger(__name__)


class Tasks:
    """The window's running tasks. An environment error becomes a message, a bug a log entry and a message."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run `work` on the running loop under `name`."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def running(self) -> int:
        """The number of tasks that have not ended."""
        return len(self._running)

    async def cancel_all(self) -> None:
        """Cancel all tasks and wait until they have ended. Each task that was just created takes its first step before,
        which passes changes such as a note to the store.
        """
        await asyncio.sleep(0)
        while tasks := tuple(self._running):
            for task in tasks:
                task.cancel()
            # Not `gather`: since Python 3.12 it returns at once when every task has ended, so `_done` never runs and
            # this loop spins. `wait` returns after the callbacks.
            await asyncio.wait(tasks)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, HooklineError):
            self.messages.post(Message(text=str(error)))
        elif error is not None:
            log.error("task %r failed", task.get_name(), exc_info=error)
            self.messages.post(
                Message(
                    text=f"Something went wrong in Hookline: {type(error).__name__}: {error}",
                    advice="Your requests are safe. See the log for details.",
                )
            )
