"""The thread that writes: everything queued goes into one transaction, and one call to the loop reports all results.

Captures are inserted underneath peewee, all rows of a table in one statement: sqlite3 releases the interpreter's lock
at each statement, and taking it again from a busy loop may cost more than the insert. The fewer statements, the more
captures a second.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from peewee import Database, SqliteDatabase

from app.core.clock import now_us
from app.core.errors import NoRoomError, StorageUnavailableError
from app.core.events import Event
from app.core.ids import uuid7
from app.core.model import DeliveryState
from app.db.body_parts import complete
from app.db.counts import LOOSE, RequestCounts, grow
from app.db.models import DELIVERY_CODE, NOBODY, AccountModel, encode_headers
from app.db.raw_sql import ManyRows, raw
from app.db.sqlite.connection import (
    BUSY_S,
    FileDamagedError,
    FileMovedError,
    checkpoint,
    is_out_of_space,
    open_writer,
    trouble,
)
from app.db.sqlite.disk_reserve import DiskReserve
from app.db.sqlite.file_watch import FileWatch
from app.db.storage_limits import StorageLimits
from app.db.writer_thread import AdaptiveBatch, Add, Job, JobResult, WriterThread

log = logging.getLogger(__name__)
T = TypeVar("T")

LOCK_RETRY_MS = 100
"""While another program has the lock: how often to check whether waiting for it still makes sense."""
PROBE_S = 2.0
"""How often the file is looked at, and a store that fails is retried, while nothing is queued."""
REPEAT_S = 60.0
"""Trouble that recurs sooner than this is not logged again."""


class Writer(WriterThread):
    """Owns the writing connection. All public methods are called on the loop's thread."""

    def __init__(
        self,
        path: Path,
        reserve: DiskReserve,
        counts: RequestCounts,
        limits: StorageLimits,
        publish: Callable[[Event], None],
        *,
        on_trouble: Callable[[str | None], None],
        on_loss: Callable[[bool], None],
        on_suspicion: Callable[[], None],
        on_uncounted: Callable[[], None],
        fsync: bool,
    ) -> None:
        """`on_trouble`: why nothing can be stored, None once it can again. `on_loss`, once: the file is gone (True:
        what is open is whole) or overwritten. `on_suspicion`: another program has written to it.
        `on_uncounted`: storing works again, and something is stored that was refused. They are called on the loop's
        thread."""
        super().__init__(counts, limits, publish)
        self._path, self._reserve, self._fsync = path, reserve, fsync
        self._on_trouble, self._on_loss, self._on_suspicion = on_trouble, on_loss, on_suspicion
        self._on_uncounted, self._uncounted = on_uncounted, False
        self._trouble: str | None = None
        self._announced: str | None = None
        self._logged, self._is_logged, self._over_at = "", False, 0.0
        """The trouble last logged, whether that is the one now announced, and when the last one was over."""
        self._database: SqliteDatabase
        self._connection: sqlite3.Connection
        self._watch: FileWatch
        self._damaged: FileDamagedError | None = None
        self._lost = self._suspected = False
        self._read_at = 0.0

    async def checkpoint(self) -> bool:
        """Move the log's content into the database file and shrink both; False when a reader prevents it."""

        def job(database: Database, _: int) -> bool:
            connection = raw(database)
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                # On a full disk the log's blocks are not given away: the next deletion needs them.
                return checkpoint(connection, "PASSIVE" if self._reserve.low else "TRUNCATE")
            finally:
                connection.execute(f"PRAGMA busy_timeout = {LOCK_RETRY_MS}")

        return await self.between(job, AdaptiveBatch(1), in_transaction=False)

    def suspect(self) -> None:
        """Something could not be read: find out whether what was stored last can be."""
        if not (self._suspected or self._closed):
            self._suspected = True

            def ended(_: object) -> None:
                self._suspected = False

            def step(_: Database) -> None:
                self._watch.read_back(self._connection)

            self.put(Job(step, ended, ended, AdaptiveBatch(1), in_transaction=False))

    # -- on the writer's thread ----------------------------------------------------------------------------------

    def _open_database(self) -> None:
        self._database = open_writer(self._path, fsync=self._fsync)
        self._connection = raw(self._database)
        self._connection.execute(f"PRAGMA busy_timeout = {LOCK_RETRY_MS}")
        (instance_id,) = self._connection.execute("SELECT instance_id FROM account").fetchone()
        self._watch = FileWatch(self._path, instance_id)

    def _close_database(self) -> None:
        if self._damaged is None:
            with contextlib.suppress(sqlite3.Error):  # a last attempt; otherwise the log keeps its content
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._database.close()
        else:
            with self._watch.kept_log():
                self._database.close()
        self._watch.close()
        self._reserve.refill()  # with the space that closing the database freed: the next start may need it

    def _wait_s(self) -> float:
        return PROBE_S

    def _look_around(self, *, idle: bool, stop: bool) -> None:
        if idle and self._announced:
            self._probe()
        elif idle and not self._background:
            self._look()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """It holds the write lock from the start."""
        try:
            self._begin()
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk may have rolled it back already; if the rollback fails, the next BEGIN reports it.
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()
            raise

    def _begin(self) -> None:
        """While another program has the lock, try again after each busy timeout."""
        wait_until = time.monotonic() + BUSY_S
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or self._is_shutting_down or time.monotonic() >= wait_until:
                    raise
            else:
                return

    def _write(self, adds: list[Add], jobs: list[Job]) -> JobResult:
        with self._own_changes():
            adds, jobs, rejected = self._reserve.admit(self._connection, adds, jobs)
            try:
                result = self._run_all(adds, jobs)
            except Exception as error:
                # The reserve is for deleting, not for captures.
                if not is_out_of_space(error) or not jobs or not self._reserve.free_space(self._connection):
                    raise
                rejected = [*rejected, *adds]
                result = self._run_all([], jobs)
        if self._announced:
            self._probe()
        if rejected:
            full = NoRoomError(self._reserve.reason)
            result.failures += [(item, full) for item in rejected]
        return result

    def _run_all(self, adds: list[Add], jobs: list[Job]) -> JobResult:
        result = JobResult()
        with self._transaction():
            for job in jobs:
                job.result = job.run(self._database)
            if adds:
                result.first_seq = insert(self._database, adds)
        result.adds, result.jobs = adds, jobs
        return result

    def _report(self, result: JobResult) -> None:
        self._announce()
        if self._reserve.low and self._damaged is None:
            with contextlib.suppress(FileMovedError, FileDamagedError), self._own_changes():  # the next commit says it
                self._reserve.maintain(self._connection)
        super()._report(result)

    @contextlib.contextmanager
    def _own_changes(self) -> Iterator[None]:
        """Only what is done within may change the file. FileMovedError or FileDamagedError when another program has
        changed it; also at the end, and then nothing of this commit may be acknowledged."""
        self._require_own_file()
        uncounted = self._uncounted
        try:
            yield
        except BaseException:
            with contextlib.suppress(FileMovedError, FileDamagedError):
                self._watch.accept()
            raise
        self._uncounted = True  # unless the callers get their results
        if not self._watch.is_unchanged():
            self._watch.accept()
        self._uncounted = uncounted

    def _require_own_file(self) -> None:
        if self._damaged is not None:
            raise self._damaged
        if not self._watch.is_unchanged():
            self._watch.read_back(self._connection)
            log.warning("another program has written to %s; what was stored last can be read", self._path)
            self._loop.call_soon_threadsafe(self._on_suspicion)
        elif self._watch.unread and time.monotonic() - self._read_at > PROBE_S:
            self._read_at = time.monotonic()
            self._watch.read_back(self._connection)

    def _look(self) -> None:
        """While nothing is queued: nobody else would notice that the file is gone or overwritten."""
        try:
            self._require_own_file()
        except Exception as error:
            if not isinstance(self._unavailable(error), StorageUnavailableError):
                log.exception("looking at the database failed")

    def _step(self, job: Job) -> None:
        """Run one step of background work. Nobody relies on it being on disk, so its commit does not wait for that; the
        next group's commit does, for both."""
        result = JobResult()
        try:
            if self._fsync:
                self._connection.execute("PRAGMA synchronous = NORMAL")
            with contextlib.nullcontext() if job.any_file else self._own_changes():
                try:
                    self._run_step(job)
                except Exception as error:
                    if not is_out_of_space(error) or not self._reserve.free_space(self._connection):
                        raise
                    if job.batch is not None:
                        job.batch.use_smallest()
                    self._run_step(job)
            result.jobs.append(job)
        except Exception as error:
            result.failures.append((job, self._unavailable(error)))
        finally:
            if self._fsync:
                self._connection.execute("PRAGMA synchronous = FULL")
        self._report(result)

    def _run_step(self, job: Job) -> None:
        with self._transaction() if job.in_transaction else contextlib.nullcontext():
            started = time.perf_counter()
            job.result = job.run(self._database)
            if job.batch is not None:
                job.batch.adapt(time.perf_counter() - started)

    def _unavailable(self, error: Exception) -> Exception:
        reason = trouble(error)
        if reason is None:
            return error
        if isinstance(error, FileDamagedError):
            self._damaged = error
        if self._trouble is None:
            self._trouble = reason
            self._announce("" if str(error) == reason else f" ({error})")
        if not self._lost and (self._damaged is not None or (isinstance(error, FileMovedError) and error.is_lost)):
            self._lost = True
            self._loop.call_soon_threadsafe(self._on_loss, self._damaged is None)
        unavailable = (NoRoomError if is_out_of_space(error) else StorageUnavailableError)(reason)
        unavailable.__cause__ = error.with_traceback(None)  # its frames hold what could not be stored
        return unavailable

    def _announce(self, detail: str = "") -> None:
        """Report when storing begins to fail and when it works again; log it once, however often it alternates."""
        reason = self._trouble or self._reserve.reason
        if (reason is None) == (self._announced is None):
            return
        if reason is not None:
            kind = self._trouble or "no room"  # whose reason gives other numbers each time
            self._is_logged = kind != self._logged or time.monotonic() - self._over_at > REPEAT_S
            if self._is_logged:
                self._logged = kind
                log.warning("storing fails: %s%s", reason, detail)
        else:
            self._over_at = time.monotonic()
            if self._is_logged:
                log.warning("storing works again")
        self._announced = reason
        self._loop.call_soon_threadsafe(self._on_trouble, reason)

    def _probe(self) -> None:
        """Try a tiny write; if it succeeds, storing works again as far as the disk has room."""
        try:
            if self._damaged is not None:
                self._watch.read_back(self._connection)
                self._damaged = None
            with self._own_changes():
                # The log may have room for this write on a disk that filled up since it was measured.
                self._reserve.check(self._connection)
                with self._transaction():
                    AccountModel.update(plan=AccountModel.plan).execute(self._database)
        except Exception as error:
            if isinstance(error, FileDamagedError):
                self._damaged = error
            if trouble(error) is None:
                log.exception("trying to store something failed")
            return
        self._trouble, self._lost = None, False
        if self._uncounted:
            self._uncounted = False
            self._loop.call_soon_threadsafe(self._on_uncounted)
        self._announce()


_PLAIN = (
    *("id", "endpoint_id", "received_at", "method", "target", "http_version", "content_type", "size", "sha256"),
    *("source_address", "source_port", "scheme", "complete", "response_status", "event", "delivery_id", "gist"),
)
"""Columns that hold a field of the capture unchanged; `_plain` reads them all at once."""
_plain = attrgetter(*_PLAIN)
_CAPTURES = ManyRows("capture", (*_PLAIN, "headers", "delivery", "is_read", "provider"))
_BODIES = ManyRows("capture_body", ("key", "data"))
_DELIVERIES = ManyRows("delivery", ("id", "capture_seq", "endpoint_id", "target_id", "url", "state", "queued_at"))


def insert(database: Database, adds: list[Add]) -> int:
    """Insert captures with their bodies, or the last parts of long ones, and the deliveries they queue. Returns the
    number of the first; those of the others follow. Runs on the writer's thread, within its transaction."""
    connection = raw(database)
    captures: list[Any] = []
    grown: dict[int, int] = {}
    for _, c, _, _, _, _, headers, size, _ in adds:
        grown[c.endpoint_id] = grown.get(c.endpoint_id, 0) + size
        captures += _plain(c)
        captures += (headers, DELIVERY_CODE[c.delivery], c.read, (c.provider or NOBODY) if c.identified else None)
    first = _CAPTURES.insert(database, captures) - len(adds) + 1
    bodies: list[Any] = []
    deliveries: list[Any] = []
    # Separate statements: so few captures have these that values for each row would cost more.
    trailers: list[tuple[bytes, int]] = []
    long_bodies: list[tuple[int | None, int]] = []
    for seq, (_, c, tail, body_key, targets, _, _, _, _) in enumerate(adds, first):
        if c.trailers:
            trailers.append((encode_headers(c.trailers), seq))
        if body_key is not None:
            long_bodies.append((complete(database, body_key, seq, tail, c.size), seq))
            grown[LOOSE] = grown.get(LOOSE, 0) - (c.size - len(tail))
        elif tail:
            bodies += (seq, tail)
        for target in targets:
            at = now_us()
            deliveries += (uuid7(at), seq, c.endpoint_id, target.id, target.url, DeliveryState.QUEUED.value, at)
    _BODIES.insert(database, bodies)
    _DELIVERIES.insert(database, deliveries)
    grow(database, grown)
    if trailers:
        connection.executemany("UPDATE capture SET trailers = ? WHERE seq = ?", trailers)
    if long_bodies:
        connection.executemany("UPDATE capture SET body_key = ? WHERE seq = ?", long_bodies)
    return first
