"""Runs only the newest of several requested operations: skipping through rows does not accumulate work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from app.core.errors import NotFoundError
from app.ui.tasks import Tasks

Work = Callable[[], Coroutine[Any, Any, None]]


class Latest:
    """Runs one operation at a time. Meanwhile only the latest request waits; the running one checks `superseded`
    between its steps and ends early.
    """

    def __init__(self, tasks: Tasks, name: str) -> None:
        self._tasks, self._name = tasks, name
        self._waiting: Work | None = None
        self._running = False
        self._stopped = False

    @property
    def superseded(self) -> bool:
        """Whether the result of the running operation is no longer needed."""
        return self._waiting is not None or self._stopped

    def run(self, work: Work) -> None:
        """Run this as soon as the current operation has ended."""
        self._stopped = False
        self._waiting = work
        if not self._running:
            self._running = True
            self._tasks.start(self._work(), self._name)

    def stop(self) -> None:
        """Cancel the running and the waiting operation."""
        self._waiting, self._stopped = None, True

    async def _work(self) -> None:
        try:
            while self._waiting is not None:
                work, self._waiting = self._waiting, None
                # Deleted while it was being read: the page receives the event and clears itself.
                with suppress(NotFoundError):
                    await work()
        except asyncio.CancelledError:
            self._waiting = None
            raise
        finally:
            self._running = False
            if self._waiting is not None and not self._stopped:
                # The operation failed (the user was told) while the next one was waiting.
                self.run(self._waiting)
