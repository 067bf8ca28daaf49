"""Deletes in the background what is hidden."""

from __future__ import annotations

import asyncio

from app.db import body_parts
from app.db.background_worker import BackgroundWorker
from app.db.deleting import delete_removed_endpoints
from app.db.part import Part, Shared
from app.db.write_jobs import AdaptiveBatch


class Cleanup(Part):
    """Works when woken; what a stop interrupts goes on with the next run of retention, on whichever node."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._rows, self._parts = AdaptiveBatch(256), AdaptiveBatch(4, least=1)
        self._lock = asyncio.Lock()
        self._worker = BackgroundWorker("hookline-cleanup", self.run)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    async def run(self) -> None:
        """Delete until nothing is left; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            for step, batch in ((delete_removed_endpoints, self._rows), (body_parts.delete_dropped, self._parts)):
                while await self._writer.between(step, batch, self._limits.deleted):
                    pass
