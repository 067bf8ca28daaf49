"""Deletes requests older than their endpoint's retention, and in the background what is already hidden (requests of
removed endpoints, bodies without a request), in steps so small that captures never wait long for one, and returns the
space of deleted data to the disk.

Deleting by age waits while the clock may be wrong, which is decided by comparing it with the time the store last saw. A
clock far ahead of that time is not trusted at first, even if it is right after a long pause or suspend: deleting later
does no harm, deleting too early cannot be undone. Requests that came while the clock was wrong (table `misdated`) have
their days counted from when that was known.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from peewee import Database, DatabaseError

from app.core.clock import DAY_US
from app.core.errors import StorageUnavailableError
from app.core.events import RetentionWaiting
from app.core.model import ClockProblem, Endpoint, StorageSize
from app.core.record import fields_of
from app.core.text import clock_text
from app.data_folder.database_files import size_on_disk
from app.db.deleting import SELECTED, Cleanup, Purging, count_expired
from app.db.models import ClockModel, MisdatedModel
from app.db.part import BackgroundWorker, Shared
from app.db.raw_sql import newest_seq, raw
from app.db.sqlite.connection import is_damage
from app.db.sqlite.writer import Writer
from app.db.writer_thread import AdaptiveBatch

log = logging.getLogger(__name__)

_LONGEST_DAYS = fields_of(Endpoint)["retention_days"].bounds[1]
_SIZE = "400 + size + length(headers) + length(target)"
"""The bytes of a request, with about what its row and its index entries take."""
AHEAD_US = 30 * DAY_US
BEHIND_US = 5 * 60 * 1_000_000
"""How far a clock may go back: time servers correct it by seconds or minutes, and no retention is as short as that."""
TRUSTED_AFTER_US = DAY_US
"""How long Hookline must run on a doubtful clock before it is trusted."""
CHECK_INTERVAL_MAX_S = 1800.0
"""The most time counted between two checks. They are closer together unless the machine slept: Windows counts sleep as
running."""


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
        """`running_s` counts seconds of running; it may stand still while the machine sleeps."""
        super().__init__(shared, cleanup, rows=64, is_damage=is_damage)
        self._path, self._reclaim, self._running_s = path, reclaim, running_s
        self._counted_s: float | None = None
        self._clock_lock = asyncio.Lock()
        self._announced: str | None = None

    async def load(self) -> None:
        """Check the clock without writing, so that the store opens on a full disk too; `problem` says why nothing is
        deleted by age. StorageUnavailableError when the file cannot be read."""
        self.problem = await self._readers.run(partial(find_problem, now=self._clock()))
        self._counted_s = self._running_s()

    async def close(self) -> None:
        """Stop, and store the time if possible."""
        await self.stop()
        if self._counted_s is not None:
            # Another file may have been put in the database's place.
            with contextlib.suppress(StorageUnavailableError, DatabaseError, sqlite3.Error):
                async with self._clock_lock:
                    await self._check_clock(self._clock())

    async def resume(self) -> None:
        """Accept the clock as it is and purge soon; StorageUnavailableError when that cannot be stored."""
        async with self._clock_lock:
            if self.problem is not None:
                await self._writer.run(partial(_trust, now=self._clock()))
                await self._set_problem(None)
        self.purge_soon()

    async def size(self) -> StorageSize:
        cutoffs = self._cutoffs(self._clock())

        def job(database: Database) -> StorageSize:
            free = _pragma(database, "freelist_count") * _pragma(database, "page_size")
            expired, taken = count_expired(database, cutoffs, _selections(database), _SIZE)
            return StorageSize(file_bytes=size_on_disk(self._path), free_bytes=free + taken, expired=expired)

        return await self._readers.run(job)

    async def _purge(self) -> tuple[dict[int, int], int]:
        """As in `Purging`, and shrink the file. While there is a `problem` nothing is deleted by age."""
        given_back, now = self._reclaim.given_back, self._clock()
        async with self._clock_lock:
            problem = await self._check_clock(now)
            await self._set_problem(problem)
        deleted = {}
        if problem is None:
            deleted = await self._purge_until(now)
            await self._writer.run(partial(_forget_misdated, now=now))
        await self._cleanup.run()
        await self._reclaim.run()
        # In a long purge some of it was given back in the background.
        return deleted, self._reclaim.given_back - given_back

    def _expired(self, database: Database, limit: int, endpoint_id: int, before: int) -> Sequence[int]:
        if not _any_misdated(raw(database)):
            return super()._expired(database, limit, endpoint_id, before)
        selections = (f"{_PLAIN} ORDER BY received_at, id", _MISDATED)
        query = " UNION ".join(f"SELECT seq FROM (SELECT seq {selection} LIMIT :limit)" for selection in selections)
        values = {"endpoint": endpoint_id, "before": before, "limit": limit}
        return [seq for (seq,) in raw(database).execute(query, values)]

    async def _check_clock(self, now: int) -> ClockProblem | None:
        """Compare `now` with the time last seen, and store it; what is wrong with it. StorageUnavailableError when it
        cannot be stored; then nothing must be deleted either."""
        running_s = self._running_s()
        ran_s = 0.0 if self._counted_s is None else min(running_s - self._counted_s, CHECK_INTERVAL_MAX_S)
        problem = await self._readers.run(partial(find_problem, now=now))
        if problem is None:
            await self._writer.run(partial(_record_agreement, now=now))
        else:
            job = partial(_record_doubt, now=now, kind=problem.kind, ran_us=int(ran_s * 1_000_000))
            left_us = await self._writer.run(job)
            problem = replace(problem, left_us=left_us) if left_us else None
        self._counted_s = running_s
        return problem

    async def _set_problem(self, problem: ClockProblem | None) -> None:
        """Log and publish it once, when it has changed."""
        if problem is not None:
            cutoffs = self._cutoffs(self._clock())
            expired, _ = await self._readers.run(
                lambda database: count_expired(database, cutoffs, _selections(database))
            )
            problem = replace(problem, expired=expired)
        self.problem = problem
        kind = None if problem is None else problem.kind
        if kind == self._announced:
            return
        self._announced = kind
        if problem is None:
            log.warning("retention resumed")
        else:
            log.warning("retention waits: %s %s (hookline retention resume)", *clock_text(problem))
        self._publish(RetentionWaiting(problem=problem))


def _pragma(database: Database, name: str) -> int:
    return int(raw(database).execute(f"PRAGMA {name}").fetchone()[0])


_PLAIN = f"{SELECTED} AND NOT EXISTS (SELECT 1 FROM misdated WHERE seq BETWEEN first_seq AND last_seq)"
_MISDATED = (
    "FROM misdated CROSS JOIN capture ON seq BETWEEN first_seq AND last_seq"
    " WHERE counted_from < :before AND endpoint_id = :endpoint"
)


def _selections(database: Database) -> Sequence[str]:
    """The requests that have expired. Without misdated requests the list's index alone is enough."""
    return (_PLAIN, _MISDATED) if _any_misdated(raw(database)) else (SELECTED,)


def _any_misdated(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM misdated LIMIT 1").fetchone() is not None


def _forget_misdated(database: Database, now: int) -> None:
    """Delete records of misdated requests that have expired under any retention."""
    limit = now - (_LONGEST_DAYS + 1) * DAY_US
    MisdatedModel.delete().where(MisdatedModel.counted_from < limit).execute(database)


def find_problem(database: Database, now: int) -> ClockProblem | None:
    """Why the clock is not to be trusted at `now`."""
    connection, known = raw(database), _remembered(database)
    left = TRUSTED_AFTER_US - known.ran_us
    future = f"SELECT count(*), coalesce(max(received_at), 0) {_AFTER}"
    requests, newest = connection.execute(future, (now + BEHIND_US,)).fetchone()
    if known.seen_at and now < known.seen_at - BEHIND_US:
        return ClockProblem(kind="behind", by_us=known.seen_at - now, left_us=left)
    if known.seen_at and now > known.seen_at + AHEAD_US:
        seen = _received_by(connection, known.seen_at + AHEAD_US, known.seen_at)
        if now > seen + AHEAD_US:
            return ClockProblem(kind="ahead", by_us=now - seen, left_us=left)
    if requests:
        return ClockProblem(kind="future", by_us=newest - now, left_us=left, requests=requests)
    return None


def last_seen(database: Database) -> int:
    """The time that the store last saw, 0 for none."""
    return _remembered(database).seen_at


def _remembered(database: Database) -> ClockModel:
    row: ClockModel = ClockModel.select().get(database)
    return row


_AFTER = (
    "FROM endpoint CROSS JOIN capture ON endpoint_id = endpoint.id AND received_at > ? WHERE NOT removed AND NOT EXISTS"
    " (SELECT 1 FROM misdated WHERE counted_from IS NOT NULL AND seq BETWEEN first_seq AND last_seq)"
)
"""The requests received after a moment, without those known to be misdated."""


def _received_by(connection: sqlite3.Connection, moment: int, least: int) -> int:
    """When the newest request up to `moment` was received, but at least `least`; without those received on a doubtful
    clock."""
    (newest,) = connection.execute(
        "SELECT max(received_at) FROM endpoint CROSS JOIN capture ON endpoint_id = endpoint.id"
        " AND received_at BETWEEN ? AND ? WHERE NOT EXISTS"
        " (SELECT 1 FROM misdated WHERE seq BETWEEN first_seq AND coalesce(last_seq, seq))",
        (least, moment),
    ).fetchone()
    return least if newest is None else int(newest)


def _record_agreement(database: Database, now: int) -> None:
    """The clock is plausible again. Requests that came while it was not have their days counted from now."""
    known = _remembered(database)
    if known.problem is not None:
        _close_ranges(database)
        _count_from(database, now)
    _remember(database, max(now, known.seen_at))


def _record_doubt(database: Database, now: int, kind: str, ran_us: int) -> int:
    """The clock is doubtful. Returns how much longer Hookline must run on it in microseconds; 0 when it is trusted
    now."""
    known = _remembered(database)
    first_seq = known.seen_seq + 1 if known.problem is None else None
    if known.problem is not None and not known.clock_at - BEHIND_US <= now <= known.clock_at + AHEAD_US:
        first_seq = newest_seq(database) + 1
        _close_ranges(database)
    if first_seq is not None:
        MisdatedModel.insert(first_seq=first_seq).execute(database)
        ran_us = 0
    else:
        ran_us += known.ran_us
    if ran_us >= TRUSTED_AFTER_US:
        _trust(database, now)
        return 0
    clock_at = max(now, known.clock_at) if first_seq is None else now
    ClockModel.update(problem=kind, clock_at=clock_at, ran_us=ran_us).execute(database)
    return TRUSTED_AFTER_US - ran_us


def _trust(database: Database, now: int) -> None:
    """Requests received on this clock have the right time. Those dated later than now have their days counted from
    now."""
    MisdatedModel.delete().where(MisdatedModel.last_seq.is_null()).execute(database)
    _count_from(database, now)
    statement = f"SELECT min(seq), max(seq) {_AFTER}"
    first, last = raw(database).execute(statement, (now + BEHIND_US,)).fetchone()
    if first is not None:
        MisdatedModel.insert(first_seq=first, last_seq=last, counted_from=now).execute(database)
    _remember(database, now)


def _remember(database: Database, now: int) -> None:
    seen_seq = newest_seq(database)
    ClockModel.update(seen_at=now, seen_seq=seen_seq, problem=None, clock_at=0, ran_us=0).execute(database)


def _count_from(database: Database, now: int) -> None:
    MisdatedModel.update(counted_from=now).where(MisdatedModel.counted_from.is_null()).execute(database)


def _close_ranges(database: Database) -> None:
    newest, is_open = newest_seq(database), MisdatedModel.last_seq.is_null()
    MisdatedModel.delete().where(is_open, MisdatedModel.first_seq > newest).execute(database)
    MisdatedModel.update(last_seq=newest).where(is_open).execute(database)


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

    async def run(self) -> None:
        """Shrink the files; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            while freed := await self._writer.between(_vacuum, self._pages, in_transaction=False):
                self.given_back += freed
                self._shrink_pending = True
            if self._shrink_pending:
                self._shrink_pending = not await self._shrink()

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
    if not _pragma(database, "freelist_count"):
        return 0
    before = _pragma(database, "page_count")
    # execute() takes one step, which frees one page; executescript() goes on to the end
    raw(database).executescript(f"PRAGMA incremental_vacuum({pages})")
    return (before - _pragma(database, "page_count")) * _pragma(database, "page_size")
