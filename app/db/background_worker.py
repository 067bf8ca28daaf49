"""Work that is done in the background whenever it is woken: cleanup, eviction, identification, the search index."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from app.core.errors import StorageUnavailableError

log = logging.getLogger(__name__)


class BackgroundWorker:
    """Calls `work` once for any number of wakes, and again when woken meanwhile. Used on the loop's thread.

    When the store is not available, the work waits for the next wake.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """`name` is the name of the task."""
        self._name, self._work = name, work
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self.is_woken = False
        """Whether it was woken since the current work began."""

    @property
    def is_idle(self) -> bool:
        return self._task is None or self._task.done()

    def wake(self) -> None:
        """Ignored once stopped."""
        self.is_woken = not self._stopped
        if self.is_woken and self.is_idle:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """Stop for good after the current step. Twice is harmless."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self.is_woken:
            self.is_woken = False
            try:
                await self._work()
            except StorageUnavailableError as error:
                log.debug("%s is put off: %s", self._name, error)  # the writer has logged why
