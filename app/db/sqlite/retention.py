"""Deletes requests older than their endpoint's retention, and in the background what is already hidden (requests of
removed endpoints, bodies without a request), in steps so small that captures never wait long for one, and returns the
space of deleted data to the disk.

Deleting by age waits while the clock may be wrong, see `clock_check.py`. Requests that came while the clock was wrong
(table `misdated`) have their days counted from when that was known.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from peewee import Database

from app.core.clock import DAY_US
from app.core.errors import StorageUnavailableError
from app.core.events import RetentionWaiting
from app.core.fields import fields_of
from app.core.model import Endpoint, StorageSize
from app.data_folder.database_files import size_on_disk
from app.db.counts import Deleted
from app.db.deleting import Cleanup, Purging, delete_oldest, delete_selected
from app.db.deliveries.unsent import BY_AGE
from app.db.models import MisdatedModel
from app.db.part import BackgroundWorker, Shared
from app.db.raw_sql import raw
from app.db.sqlite.clock_check import ClockCheck
from app.db.sqlite.writer import Writer
from app.db.writer_thread import AdaptiveBatch

log = logging.getLogger(__name__)

_LONGEST_DAYS = fields_of(Endpoint)["retention_days"].bounds[1]
ROW_OVERHEAD = 400
"""Bytes that a request takes besides its body, headers and target, about: its row, its index entries."""


class Retention(Purging):
    def __init__(
        self,
        shared: Shared,
        path: Path,
        cleanup: Cleanup,
        reclaim: Reclaim,
        *,
        running_s: Callable[[], float],
    ) -> None:
        super().__init__(shared, cleanup, rows=64)
        self._path, self._reclaim = path, reclaim
        self._clock_check = ClockCheck(shared, running_s)
        self._announced: str | None = None

    async def load(self) -> None:
        """Check the clock; `problem` says why nothing is deleted by age, None while deleting is possible."""
        await self._clock_check.load(self._clock())
        self.problem = self._clock_check.problem

    async def close(self) -> None:
        """Stop, and store the time."""
        await self.stop()
        await self._clock_check.close(self._clock())

    async def resume(self) -> None:
        """Accept the clock as it is and purge soon; StorageUnavailableError when that cannot be stored."""
        await self._clock_check.trust(self._clock())
        await self._update_problem()
        self.purge_soon()

    async def _purge(self) -> tuple[dict[int, int], int]:
        """As in `Purging`, and shrink the file. While there is a `problem` nothing is deleted by age."""
        given_back = self._reclaim.given_back
        now = await self._clock_check.run(self._clock())
        await self._update_problem()
        deleted = {} if now is None else await self._purge_all(now)
        await self._cleanup.run()
        await self._reclaim.run()
        # In a long purge some of it was given back in the background.
        return deleted, self._reclaim.given_back - given_back

    async def size(self) -> StorageSize:
        """Bytes that the store takes on disk, and about how many of them the next purge can free.

        StorageUnavailableError when the file cannot be read.
        """
        limits = self._cutoffs(self._clock())
        return await self._readers.run(lambda database: _size(database, self._path, limits))

    async def _update_problem(self) -> None:
        """Take over the result of the clock check; log and publish it once, when the problem has changed."""
        problem = self._clock_check.problem
        if problem is not None:
            limits = self._cutoffs(self._clock())
            expired, _ = await self._readers.run(lambda database: _count_expired(database, limits))
            problem = msgspec.structs.replace(problem, expired=expired)
        self.problem = problem
        kind = None if problem is None else problem.kind
        if kind == self._announced:
            return
        self._announced = kind
        if problem is None:
            log.warning("retention resumed")
        else:
            log.warning("retention waits: %s %s (hookline retention resume)", problem.reason, problem.advice)
        self._publish(RetentionWaiting(problem=problem))

    async def _purge_all(self, now: int) -> dict[int, int]:
        """Delete all expired requests; how many of which endpoint."""
        deleted: dict[int, int] = {}
        failed: StorageUnavailableError | None = None
        for endpoint in self._directory.all():
            try:
                total = await self._purge_endpoint(_delete_expired, endpoint.id, now)
            except StorageUnavailableError as error:  # a damaged page of one endpoint must not block the others
                failed = error
                continue
            if total:
                deleted[endpoint.id] = total
        if failed is not None:
            raise failed
        await self._writer.run(partial(_forget_misdated, now=now))
        return deleted


def _pragma(database: Database, name: str) -> int:
    return int(raw(database).execute(f"PRAGMA {name}").fetchone()[0])


def _size(database: Database, path: Path, limits: list[tuple[int, int]]) -> StorageSize:
    free = _pragma(database, "freelist_count") * _pragma(database, "page_size")
    expired, taken = _count_expired(database, limits, f"{ROW_OVERHEAD} + size + length(headers) + length(target)")
    return StorageSize(file_bytes=size_on_disk(path), free_bytes=free + taken, expired=expired)


_PLAIN = (
    "FROM capture WHERE endpoint_id = :endpoint AND received_at < :before AND NOT EXISTS"
    " (SELECT 1 FROM misdated WHERE seq BETWEEN first_seq AND last_seq)"
)
_MISDATED = (
    "FROM misdated CROSS JOIN capture ON seq BETWEEN first_seq AND last_seq"
    " WHERE counted_from < :before AND endpoint_id = :endpoint"
)


def _delete_expired(database: Database, limit: int, *, endpoint_id: int, before: int) -> Deleted:
    """Delete at most about `limit` of the requests that an endpoint received before `before`, oldest first."""
    connection = raw(database)
    if not _any_misdated(connection):
        return delete_oldest(database, limit, endpoint_id=endpoint_id, before=before, unsent_error=BY_AGE)
    values = {"endpoint": endpoint_id, "before": before, "limit": limit}
    selections = (f"{_PLAIN} ORDER BY received_at, id", _MISDATED)
    selected = " UNION ".join(f"SELECT seq FROM (SELECT seq {selection} LIMIT :limit)" for selection in selections)
    return delete_selected(database, selected, values, unsent_error=BY_AGE)


def _count_expired(database: Database, limits: list[tuple[int, int]], size: str = "0") -> tuple[int, int]:
    """How many requests `_delete_expired` would delete in total, and the sum of `size` over them; `limits` are endpoint
    ids with their `before`."""
    connection, total, taken = raw(database), 0, 0
    for endpoint_id, before in limits:
        for selection in _selections(connection):
            values = {"endpoint": endpoint_id, "before": before}
            number, sizes = connection.execute(f"SELECT count(*), total({size}) {selection}", values).fetchone()
            total, taken = total + number, taken + int(sizes)
    return total, taken


def _forget_misdated(database: Database, now: int) -> None:
    """Delete records of misdated requests that have expired under any retention."""
    limit = now - (_LONGEST_DAYS + 1) * DAY_US
    MisdatedModel.delete().where(MisdatedModel.counted_from < limit).execute(database)


def _any_misdated(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM misdated LIMIT 1").fetchone() is not None


def _selections(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The requests to count. Without misdated requests the list's index alone is enough."""
    if not _any_misdated(connection):
        return ("FROM capture WHERE endpoint_id = :endpoint AND received_at < :before",)
    return _PLAIN, _MISDATED


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
            while step := await self._writer.between(_vacuum, self._pages, in_transaction=False):
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


def _vacuum(database: Database, pages: int) -> int:
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


class ReclaimingCleanup(Cleanup):
    """Returns the space of what it deleted to the disk, in the background, too."""

    def __init__(self, shared: Shared, reclaim: Reclaim) -> None:
        super().__init__(shared, rows=64, parts=2)
        self._reclaim = reclaim
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def wake_soon(self) -> None:
        """Endpoints that are removed within `SOON_S` are deleted together."""
        if self._timer is None or self._timer.when() < self._loop.time():
            self._timer = self._loop.call_later(SOON_S, self.wake)

    async def _work(self) -> None:
        await self.run()
        self._reclaim.wake()
