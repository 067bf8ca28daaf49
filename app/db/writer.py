"""The one thread that writes: whatever waits goes into one transaction, and one call wakes all who waited for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.db.connection import BUSY_S, Whereabouts, open_writer, trouble
from app.db.jobs import Add, Bulk, Job, Outcome, Pace
from app.db.raw import raw, savepoint, transaction

log = logging.getLogger(__name__)
T = TypeVar("T")
_Done = Callable[[T], None]
_Failed = Callable[[Exception], None]

LOOK_UP_MS = 100
"""While another program holds the lock: how often to look whether waiting for it still makes sense."""
PROBE_S = 2.0
"""How often a store in trouble is tried again while nobody wants to write."""


def _nothing(_: object) -> None:
    """For a write that nothing in memory depends on."""


class Writer:
    """Owns the writing connection. All public methods are called on the loop's thread."""

    def __init__(self, path: Path, bulk: Bulk, on_trouble: Callable[[str | None], None]) -> None:
        self._path, self._bulk, self._on_trouble = path, bulk, on_trouble
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Add | Job | None] = SimpleQueue()
        self._background: deque[Job] = deque()
        self._thread = Thread(target=self._main, name="hookline-writer", daemon=True)
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._closed = False
        self._trouble = False
        self._hurried = False
        self._database: SqliteDatabase
        self._connection: sqlite3.Connection
        self._whereabouts: Whereabouts

    async def start(self) -> None:
        """Open the database; raises what `open_writer` raises."""
        self._thread.start()
        await self._ready

    def put(self, item: Add | Job) -> None:
        """Hand in a capture or a job; StorageUnavailableError after `close`."""
        if self._closed:
            raise StorageUnavailableError("Hookline is closing: nothing is stored any more.")
        self._queue.put(item)

    async def run(self, job: Callable[[SqliteDatabase], T], after: Callable[[T], None] = _nothing) -> T:
        """What `job` returns, once that is committed. It may run twice, the first time undone, and may raise."""
        return await self._wait(lambda done, failed: Job(job, done, failed), after)

    async def between(
        self,
        step: Callable[[SqliteDatabase, int], T],
        pace: Pace,
        after: Callable[[T], None] = _nothing,
        *,
        whole: bool = True,
    ) -> T:
        """Run a step of background work when no capture waits; `pace` says how many rows it may touch, and learns.

        Unless `whole` it runs outside of a transaction.
        """
        return await self._wait(
            lambda done, failed: Job(lambda database: step(database, pace.rows), done, failed, pace, whole=whole), after
        )

    async def checkpoint(self) -> None:
        """Move what the log holds into the database file and shrink both, unless a reader is in the way."""

        def job(database: SqliteDatabase, _: int) -> None:
            connection = raw(database)
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute(f"PRAGMA busy_timeout = {LOOK_UP_MS}")

        await self.between(job, Pace(1), whole=False)

    def hurry(self) -> None:
        """Hookline is about to end: wait no longer for a lock that another program holds."""
        self._hurried = True

    async def close(self) -> None:
        """Do what waits, then close the connection on its thread. Twice is harmless."""
        self.hurry()
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await self._ended.wait()
        self._thread.join()

    async def _wait(self, make: Callable[[_Done[T], _Failed], Job], after: Callable[[T], None]) -> T:
        future: asyncio.Future[T] = self._loop.create_future()

        def done(result: T) -> None:
            after(result)
            if not future.done():
                future.set_result(result)

        def failed(error: Exception) -> None:
            if not future.done():
                future.set_exception(error)

        self.put(make(done, failed))
        return await future

    # -- on the writer's thread ----------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            self._database = open_writer(self._path)
        except BaseException as error:  # whatever it is, it belongs to the one who starts us
            self._loop.call_soon_threadsafe(self._opened, error)
            return
        self._connection = raw(self._database)
        self._connection.execute(f"PRAGMA busy_timeout = {LOOK_UP_MS}")
        self._whereabouts = Whereabouts(self._path)
        self._loop.call_soon_threadsafe(self._opened, None)
        try:
            while self._turn():
                pass
        finally:
            with contextlib.suppress(sqlite3.Error):  # the last chance to tidy up; the log keeps what this cannot
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._database.close()
            self._loop.call_soon_threadsafe(self._ended.set)

    def _turn(self) -> bool:
        """Commit whatever waits, then one step of background work; False once closed and drained."""
        adds, jobs, stop = self._take()
        if adds or jobs:
            self._commit(adds, jobs)
        elif self._trouble:
            self._probe()
        if self._background:
            self._step(self._background.popleft())
        if stop:
            while self._background:
                self._step(self._background.popleft())
        return not stop

    def _take(self) -> tuple[list[Add], list[Job], bool]:
        adds: list[Add] = []
        jobs: list[Job] = []
        queue = self._queue
        try:
            item = queue.get(not self._background, PROBE_S if self._trouble else None)
            while item is not None:
                if type(item) is tuple:
                    adds.append(item)
                else:
                    assert isinstance(item, Job)
                    (jobs if item.pace is None else self._background).append(item)
                item = queue.get_nowait()
        except Empty:
            return adds, jobs, False
        return adds, jobs, True

    def _transaction(self) -> contextlib.AbstractContextManager[None]:
        patient_until = time.monotonic() + BUSY_S
        return transaction(self._connection, lambda: not self._hurried and time.monotonic() < patient_until)

    def _commit(self, adds: list[Add], jobs: list[Job]) -> None:
        outcome = Outcome()
        try:
            self._whereabouts.check()
            try:
                with self._transaction():
                    for job in jobs:
                        job.result = job.run(self._database)
                    if adds:
                        self._bulk.write(self._connection, adds)
                outcome.adds, outcome.jobs = adds, jobs
            except Exception as error:
                if trouble(error):
                    raise
                outcome = self._one_by_one(adds, jobs)
        except Exception as error:
            outcome = Outcome()
            told = self._unavailable(error)
            outcome.failures = [*((job, told) for job in jobs), *((add, told) for add in adds)]
        else:
            if self._trouble:
                self._probe()
        self._loop.call_soon_threadsafe(self._done, outcome)

    def _one_by_one(self, adds: list[Add], jobs: list[Job]) -> Outcome:
        """The same in one transaction, but what fails is undone and told alone."""
        outcome = Outcome()
        with self._transaction():
            for job in jobs:
                try:
                    with savepoint(self._connection):
                        job.result = job.run(self._database)
                    outcome.jobs.append(job)
                except Exception as error:
                    if trouble(error):
                        raise
                    outcome.failures.append((job, error))
            for add in adds:
                try:
                    with savepoint(self._connection):
                        self._bulk.write(self._connection, [add])
                    outcome.adds.append(add)
                except Exception as error:
                    if trouble(error):
                        raise
                    outcome.failures.append((add, error))
        return outcome

    def _step(self, job: Job) -> None:
        """One step of background work. Nobody is promised that it is on disk, so its commit does not wait for that;
        the next group's does, for both."""
        outcome = Outcome()
        try:
            self._whereabouts.check()
            self._connection.execute("PRAGMA synchronous = NORMAL")
            with self._transaction() if job.whole else contextlib.nullcontext():
                started = time.perf_counter()
                job.result = job.run(self._database)
                if job.pace is not None:
                    job.pace.took(time.perf_counter() - started)
            outcome.jobs.append(job)
        except Exception as error:
            outcome.failures.append((job, self._unavailable(error)))
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")
        self._loop.call_soon_threadsafe(self._done, outcome)

    def _unavailable(self, error: Exception) -> Exception:
        """What to tell those who wait: the world's trouble in words (announced once), a bug of ours as it is."""
        reason = trouble(error)
        if reason is None:
            return error
        if not self._trouble:
            self._trouble = True
            log.warning("storing fails: %s (%s)", reason, error)
            self._loop.call_soon_threadsafe(self._on_trouble, reason)
        return StorageUnavailableError(f"Hookline cannot store anything now. {reason}")

    def _probe(self) -> None:
        """Write something tiny; when that works, so does everything else again."""
        try:
            self._whereabouts.check()
            with self._transaction():
                self._connection.execute("UPDATE account SET plan = plan")
        except Exception as error:
            if trouble(error) is None:
                log.exception("trying to store something failed")
            return
        self._trouble = False
        self._loop.call_soon_threadsafe(self._on_trouble, None)

    # -- on the loop's thread ------------------------------------------------------------------------------------

    def _opened(self, error: BaseException | None) -> None:
        if error is not None:
            self._closed = True
            self._ended.set()
        if self._ready.done():  # whoever started us has given up
            return
        if error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)

    def _done(self, outcome: Outcome) -> None:
        for job in outcome.jobs:
            try:
                job.after(job.result)
            except Exception as bug:  # it is for the one who waits; the others go on
                job.failed(bug)
        if outcome.adds:
            self._bulk.stored(outcome.adds)
        for item, error in outcome.failures:
            if isinstance(item, Job):
                item.failed(error)
            elif not item[0].done():
                item[0].set_exception(error)
