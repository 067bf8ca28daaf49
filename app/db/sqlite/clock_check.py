"""Decides whether the clock can be trusted for deleting by age, by comparing it with the time the store last saw.

A clock far ahead of that time is not trusted at first, even if it is right after a long pause or suspend: deleting
later does no harm, deleting too early cannot be undone.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec
from peewee import Database, DatabaseError

from app.core.clock import DAY_US
from app.core.clock_problem import ClockProblem
from app.core.errors import StorageUnavailableError
from app.db.models import ClockModel, MisdatedModel
from app.db.part import Part, Shared
from app.db.raw_sql import newest_seq, raw

AHEAD_US = 30 * DAY_US
BEHIND_US = 5 * 60 * 1_000_000
"""How far a clock may go back: time servers correct it by seconds or minutes, and no retention is as short as that."""
TRUSTED_AFTER_US = DAY_US
"""How long Hookline must run on a doubtful clock before it is trusted."""
CHECK_INTERVAL_MAX_S = 1800.0
"""The most time counted between two checks. They are closer together unless the machine slept: Windows counts sleep as
running."""


class ClockCheck(Part):
    """`problem` says why requests must not be deleted by age; None when they may be."""

    def __init__(self, shared: Shared, running_s: Callable[[], float]) -> None:
        """`running_s` counts seconds of running; it may stand still while the machine sleeps."""
        super().__init__(shared)
        self._running_s = running_s
        self._counted_s: float | None = None
        self._lock = asyncio.Lock()
        self.problem: ClockProblem | None = None

    async def load(self, now: int) -> None:
        """Check the clock without writing, so that the store opens on a full disk too.

        StorageUnavailableError when the file cannot be read.
        """
        self.problem = await self._readers.run(lambda database: find_problem(database, now))
        self._counted_s = self._running_s()

    async def run(self, now: int) -> int | None:
        """Compare `now` with the time last seen, and store it. Returns the time to delete by; None with a `problem`.

        StorageUnavailableError when it cannot be stored; then nothing must be deleted either.
        """
        async with self._lock:
            running_s = self._running_s()
            ran_us = (
                0
                if self._counted_s is None
                else int(min(running_s - self._counted_s, CHECK_INTERVAL_MAX_S) * 1_000_000)
            )
            problem = await self._readers.run(lambda database: find_problem(database, now))
            if problem is None:
                await self._writer.run(partial(_record_agreement, now=now))
            else:
                left_us = await self._writer.run(partial(_record_doubt, now=now, kind=problem.kind, ran_us=ran_us))
                problem = msgspec.structs.replace(problem, left_us=left_us) if left_us else None
            self._counted_s = running_s
            self.problem = problem
            return now if problem is None else None

    async def trust(self, now: int) -> None:
        """Accept the clock as it is; StorageUnavailableError when that cannot be stored."""
        async with self._lock:
            if self.problem is not None:
                await self._writer.run(partial(_trust, now=now))
                self.problem = None

    async def close(self, now: int) -> None:
        """Store the time when Hookline exits, if possible."""
        if self._counted_s is not None:
            # Another file may have been put in the database's place.
            with suppress(StorageUnavailableError, DatabaseError, sqlite3.Error):
                await self.run(now)


def find_problem(database: Database, now: int) -> ClockProblem | None:
    """Why the clock is not to be trusted at `now`."""
    connection, known = raw(database), _remembered(database)
    left = TRUSTED_AFTER_US - known.ran_us
    requests, newest = _received_after(connection, now + BEHIND_US)
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
    row: ClockModel = next(iter(ClockModel.select().execute(database)))
    return row


def _received_after(connection: sqlite3.Connection, moment: int) -> tuple[int, int]:
    """How many requests were received after `moment`, and when the newest was; without those known to be misdated."""
    number, newest = connection.execute(
        f"SELECT count(*), coalesce(max(received_at), 0) {_AFTER}", (moment,)
    ).fetchone()
    return number, newest


_AFTER = (
    "FROM endpoint CROSS JOIN capture ON endpoint_id = endpoint.id AND received_at > ? WHERE NOT removed AND NOT EXISTS"
    " (SELECT 1 FROM misdated WHERE counted_from IS NOT NULL AND seq BETWEEN first_seq AND last_seq)"
)


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
