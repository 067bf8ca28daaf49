"""Deletes in the background what is already hidden (requests of removed endpoints, bodies without a request), in
steps so small that captures never wait long for one, and returns the space of deleted data to the disk."""

from __future__ import annotations

import asyncio

from peewee import Database

from app.db import body_parts
from app.db.background_worker import BackgroundWorker
from app.db.deleting import delete_removed_endpoints
from app.db.part import Part, Shared
from app.db.raw_sql import raw
from app.db.sqlite.writer.writer import Writer
from app.db.write_jobs import AdaptiveBatch

SOON_S = 1.0
"""Deletions within this time are given back together."""
READER_S, PATIENCE_S = 0.5, 30.0
"""While a reader uses an older snapshot the files cannot shrink: how often that is retried, and for how long."""


class Reclaim:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._pages = AdaptiveBatch(64)
        self._lock = asyncio.Lock()
        self._shrink_pending = False
        """Pages were freed, but the files could not be shrunk yet."""
        self.given_back = 0
        """Bytes since the start."""
        self._worker = BackgroundWorker("hookline-reclaim", self._run_soon)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    async def run(self) -> int:
        """Shrink the files; returns the bytes freed. StorageUnavailableError when the store cannot write."""
        freed = 0
        async with self._lock:
            while step := await self._writer.between(vacuum, self._pages, in_transaction=False):
                freed += step
                self.given_back += step
            self._shrink_pending = self._shrink_pending or bool(freed)
            if self._shrink_pending:
                self._shrink_pending = not await self._shrink()
        return freed

    async def _run_soon(self) -> None:
        await asyncio.sleep(SOON_S)
        self._worker.is_woken = False  # this run covers what was deleted meanwhile
        await self.run()
        if self._shrink_pending:
            self._worker.wake()

    async def _shrink(self) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE_S
        while not (done := await self._writer.checkpoint()) and loop.time() < end:  # noqa: ASYNC110 - no reader tells
            await asyncio.sleep(READER_S)
        return done


def vacuum(database: Database, pages: int) -> int:
    """Return at most `pages` free pages to the disk; how many bytes that were."""
    connection = raw(database)

    def number(pragma: str) -> int:
        return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    if not number("freelist_count"):
        return 0
    before = number("page_count")
    # execute() takes one step, which frees one page; executescript() goes on to the end
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")
    return (before - number("page_count")) * number("page_size")


class Cleanup(Part):
    """Works when woken; what a stop or a crash interrupts continues at the next start, and what the store could not
    write with the next run of retention."""

    def __init__(self, shared: Shared, reclaim: Reclaim) -> None:
        super().__init__(shared)
        self._reclaim = reclaim
        self._rows, self._parts = AdaptiveBatch(64), AdaptiveBatch(2, least=1)
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._worker = BackgroundWorker("hookline-cleanup", self._run)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    async def run(self) -> None:
        """Delete until nothing is left; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            while await self._writer.between(delete_removed_endpoints, self._rows, self._limits.deleted):
                pass
            while await self._writer.between(body_parts.delete_dropped, self._parts, self._limits.deleted):
                pass

    def wake_soon(self) -> None:
        """Endpoints that are removed within `SOON_S` are deleted together."""
        if self._timer is None or self._timer.when() < self._loop.time():
            self._timer = self._loop.call_later(SOON_S, self.wake)

    async def _run(self) -> None:
        await self.run()
        self._reclaim.wake()
