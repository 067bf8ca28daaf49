"""Identifies and describes stored requests in the background: long bodies, and what older versions stored.

New requests are stored with a gist, so those without one are the oldest. If the very oldest has one, none are missing;
otherwise all requests are read once, from the newest to the oldest.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.core.events import Event, RequestsDescribed, RequestsIdentified
from app.core.gist.gist import gist
from app.core.providers.catalogue import Identify, ProviderMatch
from app.core.record import Record
from app.db.background_worker import BackgroundWorker
from app.db.insert import decode_headers
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.schema import NOBODY, PARTS_PER_BODY
from app.db.writer import Writer
from app.db.writer_jobs import AdaptiveBatch

log = logging.getLogger(__name__)


PAUSE_FACTOR = 2.0
"""The pause between steps, as a multiple of the time a step took."""


class Identified(Record, frozen=True):
    """Who sent a stored request (None: unknown) and its gist; `gist_changed`: it differs from the stored one."""

    seq: int
    id: str
    sender: ProviderMatch | None
    gist: str
    gist_changed: bool


class Identification:
    """Works when woken, newest requests first; what a stop interrupts continues at the next start."""

    def __init__(
        self,
        writer: Writer,
        readers: Readers,
        identify: Identify | None,
        publish: Callable[[Event], None],
        has_room: Callable[[], bool],
    ) -> None:
        """Without `identify` no request is identified. Requests of older versions wait until the disk `has_room`."""
        self._writer, self._readers, self._identify, self._publish = writer, readers, identify, publish
        self._has_room = has_room
        self._batch = AdaptiveBatch(32, most=128)
        self._worker = BackgroundWorker("hookline-identification", self._run)
        self.stop = self._worker.stop
        self._below: int | None = None
        """Requests from this number on have a gist; None: not known yet."""

    def wake(self) -> None:
        if self._identify is not None:
            self._worker.wake()

    async def _run(self) -> None:
        assert self._identify is not None, "never woken without it"
        try:
            if self._below is None:
                self._below = await self._readers.run(first_without_gist, slow=True)
            await self._catch_up(self._identify)
            await self._describe_older()
        except StorageUnavailableError as error:
            log.warning("identifying requests is postponed: %s", error)

    async def _catch_up(self, identify: Identify) -> None:
        while True:
            job = partial(identify_batch, identify=identify, limit=self._batch.rows)
            began = time.perf_counter()
            found = await self._readers.run(job, slow=True)
            if not found:
                return
            took = time.perf_counter() - began
            await self._writer.between(partial(store_identified, found=found), self._batch)
            senders = tuple((one.id, one.sender.provider, one.sender.event) for one in found if one.sender is not None)
            if senders:
                self._publish(RequestsIdentified(senders=senders))
            gists = tuple((one.id, one.gist) for one in found if one.gist_changed)
            if gists:
                self._publish(RequestsDescribed(gists=gists))
            await asyncio.sleep(took * PAUSE_FACTOR)

    async def _describe_older(self) -> None:
        """Describe requests without a gist, until one comes that has to be identified first."""
        while self._below and not self._worker.is_woken:
            began = time.perf_counter()
            job = partial(self._describe, below=self._below, limit=self._batch.rows)
            described = await self._readers.run(job, slow=True)
            took = time.perf_counter() - began
            if described is None:
                return
            if described.gists:
                await self._writer.between(partial(store_gists, gists=described.gists), self._batch)
                self._publish(RequestsDescribed(gists=tuple((name, text) for _, name, text in described.gists)))
            self._below = described.below
            await asyncio.sleep(took * PAUSE_FACTOR)

    def _describe(self, database: SqliteDatabase, below: int, limit: int) -> Described | None:
        return describe_batch(database, below, limit) if self._has_room() else None


def identify_batch(database: SqliteDatabase, identify: Identify, limit: int) -> list[Identified]:
    """Identify the newest requests that are not identified yet: at most `limit`, fewer when that takes long."""
    connection, end = raw(database), time.perf_counter() + STEP_S
    found = []
    with database.atomic():
        rows = connection.execute(
            "SELECT c.seq, c.id, c.headers, c.content_type, b.data, c.method, c.target, c.size, c.complete, c.gist"
            " FROM capture c LEFT JOIN capture_body b ON b.key = c.seq * ? WHERE c.provider IS NULL"
            " ORDER BY c.seq DESC LIMIT ?",
            (PARTS_PER_BODY, limit),
        )
        for seq, name, packed, content_type, data, method, target, size, complete, stored in rows:
            headers, body = decode_headers(packed), data or b""
            described = gist(method, target, headers, content_type, body, size=size, complete=bool(complete))
            sender = identify(headers, content_type, body)
            found.append(Identified(seq=seq, id=name, sender=sender, gist=described, gist_changed=described != stored))
            if time.perf_counter() > end:
                break
    return found


def store_identified(database: SqliteDatabase, _: int, *, found: list[Identified]) -> None:
    """Store the providers and gists of those requests that are still stored."""
    values = [
        (one.sender.provider, one.sender.event, one.sender.delivery_id, one.gist, one.seq)
        if one.sender is not None
        else (NOBODY, None, None, one.gist, one.seq)
        for one in found
    ]
    columns = "provider = ?, event = ?, delivery_id = ?, gist = ?"
    raw(database).executemany(f"UPDATE capture SET {columns} WHERE seq = ? AND provider IS NULL", values)


STEP_S = 0.008
"""Seconds one step may take: it holds the interpreter lock, so a longer one would block the window."""
SPAN = 4_096
"""Maximum rows one step reads: rows have to be read to see whether they have a gist."""

_OLDEST = "SELECT gist IS NULL FROM capture ORDER BY seq LIMIT 1"
_WITHOUT_GIST = (
    "SELECT c.seq, c.id, c.method, c.target, c.headers, c.content_type, c.size, c.complete, b.data FROM capture c"
    " LEFT JOIN capture_body b ON b.key = c.seq * ? WHERE c.gist IS NULL AND c.seq > ? AND c.seq < ?"
    " ORDER BY c.seq DESC LIMIT ?"
)


class Described(Record, frozen=True):
    """Number, id and gist of each request. All from `below` up are done."""

    gists: list[tuple[int, str, str]]
    below: int


def first_without_gist(database: SqliteDatabase) -> int:
    """The number below which requests may lack a gist; 0 if none do. Call before identifying starts: that stores gists
    too, perhaps for the oldest request first."""
    connection = raw(database)
    oldest = connection.execute(_OLDEST).fetchone()
    if oldest is None or not oldest[0]:
        return 0
    (newest,) = connection.execute("SELECT max(seq) FROM capture").fetchone()
    return int(newest) + 1


def describe_batch(database: SqliteDatabase, below: int, limit: int) -> Described:
    """Describe the newest requests below `below` that lack a gist: at most `limit`, fewer if that takes long."""
    end, found = time.perf_counter() + STEP_S, []
    lowest = max(0, below - SPAN - 1)
    with database.atomic():
        rows = raw(database).execute(_WITHOUT_GIST, (PARTS_PER_BODY, lowest, below, limit))
        for seq, name, method, target, headers, content_type, size, complete, body in rows:
            text = gist(
                method, target, decode_headers(headers), content_type, body or b"", size=size, complete=bool(complete)
            )
            found.append((seq, name, text))
            if len(found) == limit or time.perf_counter() > end:
                return Described(gists=found, below=seq)
        (rest,) = raw(database).execute("SELECT max(seq) FROM capture WHERE seq <= ?", (lowest,)).fetchone()
    return Described(gists=found, below=0 if rest is None else rest + 1)


def store_gists(database: SqliteDatabase, _: int, *, gists: list[tuple[int, str, str]]) -> None:
    """Gists of requests deleted in the meantime are dropped."""
    values = [(text, seq) for seq, _, text in gists]
    raw(database).executemany("UPDATE capture SET gist = ? WHERE seq = ? AND gist IS NULL", values)
