"""Runs only the newest of what is asked for: a reader who skips through rows never makes work pile up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from app.core.errors import NotFoundError
from app.ui.tasks import Tasks

Work = Callable[[], Coroutine[Any, Any, None]]


class Latest:
    """One piece of work at a time. While it runs, only the last one asked for waits; the running one looks at
    `superseded` between its steps and gives up."""

    def __init__(self, tasks: Tasks, name: str) -> None:
        self._tasks, self._name = tasks, name
        self._waiting: Work | None = None
        self._running = False
        self._stopped = False

    @property
    def superseded(self) -> bool:
        """Whether what runs is not wanted any more."""
        return self._waiting is not None or self._stopped

    def run(self, work: Work) -> None:
        """Do this as soon as the one in hand has given up or ended."""
        self._stopped = False
        self._waiting = work
        if not self._running:
            self._running = True
            self._tasks.start(self._work(), self._name)

    def stop(self) -> None:
        """What runs is not wanted, and nothing else is."""
        self._waiting, self._stopped = None, True

    async def _work(self) -> None:
        try:
            while self._waiting is not None:
                work, self._waiting = self._waiting, None
                with suppress(NotFoundError):  # deleted while it was read: the page hears of that and clears itself
                    await work()
        except asyncio.CancelledError:
            self._waiting = None
            raise
        finally:
            self._running = False
            if self._waiting is not None and not self._stopped:
                # The work failed (which is told to the user) while the next one waited.
                self.run(self._waiting)
