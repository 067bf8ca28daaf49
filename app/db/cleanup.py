"""Deletes in the background what is hidden already: removed endpoints' requests and bodies without a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from app.core.errors import StorageUnavailableError
from app.db.background_worker import BackgroundWorker
from app.db.delete_requests import delete_loose_parts, delete_removed_endpoint
from app.db.reclaim import Reclaim
from app.db.storage_use import Freed
from app.db.writer import Writer
from app.db.writer_jobs import AdaptiveBatch

log = logging.getLogger(__name__)


class Cleanup:
    """Works when woken; what a stop or a crash interrupts continues at the next start.

    `freed` receives what each step freed.
    """

    def __init__(self, writer: Writer, reclaim: Reclaim, freed: Callable[[Freed], None]) -> None:
        self._writer, self._reclaim, self._freed = writer, reclaim, freed
        self._rows, self._parts = AdaptiveBatch(64), AdaptiveBatch(2, least=1)
        self._lock = asyncio.Lock()
        self._worker = BackgroundWorker("hookline-cleanup", self._run)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    async def run(self) -> None:
        """Delete until nothing is left; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            while await self._writer.between(delete_removed_endpoint, self._rows, self._count_freed):
                pass
            while await self._writer.between(delete_loose_parts, self._parts, self._count_freed):
                pass

    def _count_freed(self, freed: Freed | None) -> None:
        if freed is not None:
            self._freed(freed)

    async def _run(self) -> None:
        try:
            await self.run()
        except StorageUnavailableError as error:
            log.debug("deleting in the background is put off: %s", error)  # retention tries again
        else:
            self._reclaim.wake()
