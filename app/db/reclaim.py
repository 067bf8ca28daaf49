"""Gives the space of what was deleted back to the disk, in steps between captures."""

from __future__ import annotations

import asyncio
import logging

from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.db.raw_sql import raw
from app.db.writer import Writer
from app.db.writer_jobs import AdaptiveBatch

log = logging.getLogger(__name__)

SOON_S = 1.0
"""What is deleted within that time is given back at once."""
READER_S, PATIENCE_S = 0.5, 30.0
"""While somebody reads an older state the files cannot shrink: how often that is tried, and for how long."""


class Reclaim:
    """All public methods are called on the loop's thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._pages = AdaptiveBatch(64)
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._owed = False
        """Pages were given back, but the files could not shrink yet."""

    def soon(self) -> None:
        """Something was deleted."""
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(), name="hookline-reclaim")

    async def run(self) -> int:
        """Shrink the files; bytes given back. StorageUnavailableError when the store cannot write."""
        freed = 0
        async with self._lock:
            while step := await self._writer.between(vacuum, self._pages, whole=False):
                freed += step
            self._owed = self._owed or bool(freed)
            if self._owed:
                self._owed = not await self._shrink()
        return freed

    async def stop(self) -> None:
        """Stop after the step in hand; what it has not given back is given back after the next deletion."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self._again:
            await asyncio.sleep(SOON_S)
            self._again = False
            try:
                await self.run()
            except StorageUnavailableError as error:
                log.debug("giving space back is put off: %s", error)  # the writer has logged why
            else:
                self._again = self._again or self._owed

    async def _shrink(self) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE_S
        while not (done := await self._writer.checkpoint()) and loop.time() < end:  # noqa: ASYNC110 - no reader tells
            await asyncio.sleep(READER_S)
        return done


def vacuum(database: SqliteDatabase, pages: int) -> int:
    """Give at most `pages` free pages back; how many bytes that were."""
    connection = raw(database)

    def number(pragma: str) -> int:
        return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    if not number("freelist_count"):
        return 0
    before = number("page_count")
    # execute() takes one step, which frees one page; executescript() goes on to the end
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")
    return (before - number("page_count")) * number("page_size")
