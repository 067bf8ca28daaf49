"""The thread that writes, and what waits for it: all that is queued in one turn of the loop is passed on together, and
committed together. Also what it is given, and what follows in memory once captures are stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from peewee import Database

from app.core.errors import NotAllowedError, StorageUnavailableError
from app.core.events import Captured, Event
from app.core.model import Capture, Summary
from app.core.target import Target
from app.core.team import Role
from app.db.counts import RequestCounts
from app.db.storage_limits import StorageLimits

log = logging.getLogger(__name__)
T = TypeVar("T")

Add = tuple["asyncio.Future[int]", Capture, bytes, int | None, Sequence[Target], int | None, bytes, int, int]
"""A capture to store: the future that waits for its number, the record, its body or the last part of a long one, the
key of a body whose other parts are stored, the targets to queue it for, the endpoint's version, its headers as they are
stored, its total bytes, and how many are to be written now.

A tuple, because one is created for each request.
"""


class AdaptiveBatch:
    """How many rows a step of background work processes, so that it delays captures by about `TARGET_S`."""

    TARGET_S = 0.004

    def __init__(self, rows: int, least: int = 16, most: int = 4096) -> None:
        self.rows, self._least, self._most = rows, least, most

    def adapt(self, seconds: float) -> None:
        """Adjust to how long the last step took."""
        if seconds > self.TARGET_S:
            self.rows = max(self._least, self.rows // 2)
        elif seconds < self.TARGET_S / 3:
            self.rows = min(self._most, self.rows * 2)

    def use_smallest(self) -> None:
        """Continue with the smallest step, because there was no room for the last one."""
        self.rows = self._least


def nothing(_: object) -> None:
    """The default for writes that nothing in memory depends on."""


class Job:
    """One write. `after` runs on the loop, in the order of commits; `failed` runs instead when nothing was written."""

    __slots__ = ("after", "any_file", "batch", "cost", "failed", "in_transaction", "result", "run")

    def __init__(
        self,
        run: Callable[[Database], Any],
        after: Callable[[Any], None],
        failed: Callable[[Exception], None],
        batch: AdaptiveBatch | None = None,
        *,
        in_transaction: bool = True,
        cost: int = 0,
        any_file: bool = False,
    ) -> None:
        """With a `batch` it is background work; unless `in_transaction` it runs outside of a transaction. With
        `any_file` it runs also while the file is not Hookline's.

        `cost` is how many bytes senders make it store: the disk reserve must remain free.
        """
        self.run, self.after, self.failed = run, after, failed
        self.batch, self.in_transaction, self.cost, self.any_file = batch, in_transaction, cost, any_file
        self.result: Any = None


class JobResult:
    """The results of a group, passed to the loop in one call."""

    __slots__ = ("_began", "adds", "failures", "first_seq", "jobs", "seconds")

    def __init__(self) -> None:
        self.adds: list[Add] = []
        self.first_seq = 0
        """The number of the first of `adds`; those of the others follow."""
        self.jobs: list[Job] = []
        self.failures: list[tuple[Add | Job, Exception]] = []
        self._began = time.perf_counter()
        self.seconds = 0.0
        """How long it took to write and commit them."""

    def committed(self) -> None:
        """All of it is on disk, or has failed."""
        self.seconds = time.perf_counter() - self._began


def _succeed(future: asyncio.Future[T], after: Callable[[T], None], result: T) -> None:
    after(result)
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    """The error refers to the frame that awaits the future. If that kept the future, both would stay until garbage is
    collected, with the body that could not be stored: half a GiB in a minute of a full disk."""
    if not future.done():
        future.set_exception(error)


class WriterThread:
    """What the writers of both engines have: all that waits is committed in one transaction. All public methods are
    called on the loop's thread, and raise StorageUnavailableError when nothing can be stored."""

    role: Role = Role.MEMBER
    user: str | None = None
    """Those in a team's store, known once `start` has returned."""

    def __init__(self, counts: RequestCounts, limits: StorageLimits, publish: Callable[[Event], None]) -> None:
        """The first two follow what is stored, which `publish` then announces."""
        self._request_counts, self._limits, self._publish = counts, limits, publish
        self._loop = asyncio.get_running_loop()
        self._adds: list[Add] = []
        self._jobs: list[Job] = []
        """What this turn of the loop has queued."""
        self._queue: SimpleQueue[tuple[list[Add], list[Job]] | None] = SimpleQueue()
        self._background: deque[Job] = deque()
        self._thread = Thread(target=self._main, name="hookline-writer", daemon=True)
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._closed = self._is_shutting_down = False

    async def start(self) -> None:
        """Open the database; raises why it cannot be used."""
        self._thread.start()
        await self._ready

    def add(self, capture: Add) -> None:
        """Queue a capture; StorageUnavailableError after `close`."""
        self._pass_on_soon()
        self._adds.append(capture)

    def put(self, job: Job) -> None:
        """Queue a job; StorageUnavailableError after `close`."""
        self._pass_on_soon()
        self._jobs.append(job)

    async def run(self, job: Callable[[Database], T], after: Callable[[T], None] = nothing, *, cost: int = 0) -> T:
        """The result of `job`, once it is committed. It may run several times, each but the last rolled
        back, and may raise.

        `cost` is how many bytes senders make it store; it is refused when the disk has no room for them.
        """
        return await self._wait(job, after, cost=cost)

    async def between(
        self,
        step: Callable[[Database, int], T],
        batch: AdaptiveBatch,
        after: Callable[[T], None] = nothing,
        **options: Any,
    ) -> T:
        """Run a step of background work when no capture waits; `batch` says how many rows it may touch, and adapts.
        `options` are those of the step's Job."""
        return await self._wait(lambda database: step(database, batch.rows), after, batch=batch, **options)

    async def look(self) -> None:
        """Take over what is stored of which this program does not know; nothing where it has the store to itself."""

    def begin_shutdown(self) -> None:
        """Wait less long for others: Hookline is about to exit."""
        self._is_shutting_down = True

    async def close(self) -> None:
        """Finish what is queued, then close the connection on its thread. Twice is harmless."""
        self.begin_shutdown()
        if not self._closed:
            self._closed = True
            self._pass_on()
            self._queue.put(None)
        await self._ended.wait()
        self._thread.join()

    def _pass_on_soon(self) -> None:
        if self._closed:
            raise StorageUnavailableError("Hookline is closing: nothing is stored any more.")
        if not (self._adds or self._jobs):
            self._loop.call_soon(self._pass_on)

    def _pass_on(self) -> None:
        """Pass on what one turn of the loop has queued, all at once: fewer and larger commits take less processor time
        (25 captures in each instead of 21 with 32 connections, 95 instead of 61 with 128)."""
        if self._adds or self._jobs:
            self._queue.put((self._adds, self._jobs))
            self._adds, self._jobs = [], []

    async def _wait(self, run: Callable[[Database], T], after: Callable[[T], None], **options: Any) -> T:
        """The result of a job with these `options`."""
        future: asyncio.Future[T] = self._loop.create_future()
        self.put(Job(run, partial(_succeed, future, after), partial(_fail, future), **options))
        try:
            return await future
        finally:
            del future  # see `_fail`

    def _opened(self, error: BaseException | None) -> None:
        if error is not None:
            self._closed = True
            self._ended.set()
        if self._ready.done():  # `start` was cancelled
            return
        if error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)

    def _done(self, result: JobResult, others: Sequence[Summary] | None = ()) -> None:
        """`others` as in `_stored`."""
        for job in result.jobs:
            try:
                job.after(job.result)
            except Exception as bug:  # only its own caller gets it
                job.failed(bug)
        if result.adds:
            self._stored(result.adds, result.first_seq, others, seconds=result.seconds)
        for item, error in result.failures:
            if isinstance(item, Job):
                item.failed(error)
            else:
                _fail(item[0], error)

    def _stored(self, adds: list[Add], first_seq: int, others: Sequence[Summary] | None, *, seconds: float) -> None:
        """They are on disk: wake the waiting callers, count, and publish one event for the whole commit. `others` were
        stored before them by other nodes; None: that is not known yet, and all of them are announced later. The
        commit took so many `seconds`."""
        summaries = [summary for summary in others or () if summary.endpoint_id in self._request_counts]
        grown: dict[int, int] = {}
        taken, in_parts = 0, []
        of_others = len(summaries)
        for seq, (future, capture, _, body_key, _, _, _, size, _) in enumerate(adds, first_seq):
            if not future.done():
                future.set_result(seq)
            taken += size
            if body_key is not None:
                in_parts.append(body_key)
            endpoint_id = capture.endpoint_id
            if endpoint_id in self._request_counts:
                summaries.append(capture.summary(seq))
                grown[endpoint_id] = grown.get(endpoint_id, 0) + size
        self._limits.stored(taken, in_parts)
        if others is None:
            for endpoint_id, size in grown.items():
                self._request_counts.add(endpoint_id, stored_bytes=size)
            return
        self._request_counts.newest_seq = first_seq + len(adds) - 1
        if summaries:
            self._request_counts.stored(summaries, grown)
            own = len(summaries) - of_others
            self._publish(Captured(summaries=tuple(summaries), own=own, seconds=seconds))

    # -- on the writer's thread ----------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            self._open_database()
        except BaseException as error:  # whatever it is, `start` raises it
            self._loop.call_soon_threadsafe(self._opened, error)
            return
        self._loop.call_soon_threadsafe(self._opened, None)
        try:
            while self._turn():
                pass
        finally:
            self._close_database()
            self._loop.call_soon_threadsafe(self._ended.set)

    def _open_database(self) -> None:
        raise NotImplementedError

    def _close_database(self) -> None:
        raise NotImplementedError

    def _turn(self) -> bool:
        """Commit everything queued, then run one step of background work; False once closed and drained."""
        adds, jobs, stop = self._collect(self._wait_s())
        if adds or jobs:
            self._commit(adds, jobs)
        if self._background:
            self._step(self._background.popleft())
        while stop and self._background:
            self._step(self._background.popleft())
        self._look_around(idle=not (adds or jobs), stop=stop)
        return not stop

    def _wait_s(self) -> float:
        """How long to wait for something to do before looking around."""
        raise NotImplementedError

    def _look_around(self, *, idle: bool, stop: bool) -> None:
        """What is done at the end of each turn, in which nothing was queued if it was `idle`."""
        raise NotImplementedError

    def _collect(self, wait_s: float) -> tuple[list[Add], list[Job], bool]:
        """What is queued, after waiting for it so long at most, and whether the writer is closed. Background work is
        put into `_background`; while there is some, this does not wait."""
        adds: list[Add] = []
        jobs: list[Job] = []
        try:
            more = self._queue.get(not self._background, wait_s)
            while more is not None:
                adds += more[0]
                for job in more[1]:
                    (jobs if job.batch is None else self._background).append(job)
                more = self._queue.get_nowait()
        except Empty:
            return adds, jobs, False
        return adds, jobs, True

    def _commit(self, adds: list[Add], jobs: list[Job]) -> None:
        """All in one transaction. If that fails, but for trouble of the whole store, in smaller ones, until what fails
        is alone."""
        try:
            result = self._write(adds, jobs)
            result.committed()
        except Exception as error:
            unavailable = self._unavailable(error)
            if (unavailable is error or isinstance(unavailable, NotAllowedError)) and len(adds) + len(jobs) > 1:
                for some_adds, some_jobs in _parts(adds, jobs):
                    self._commit(some_adds, some_jobs)
                return
            result = JobResult()
            result.failures = [*((job, unavailable) for job in jobs), *((add, unavailable) for add in adds)]
        self._report(result)

    def _write(self, adds: list[Add], jobs: list[Job]) -> JobResult:
        """In one transaction."""
        raise NotImplementedError

    def _unavailable(self, error: Exception) -> Exception:
        """The error for the waiting callers: StorageUnavailableError (announced once), or a bug of the program as it
        is."""
        raise NotImplementedError

    def _report(self, result: JobResult) -> None:
        self._loop.call_soon_threadsafe(self._done, result)

    def _step(self, job: Job) -> None:
        """Run one step of background work."""
        self._commit([], [job])


def _parts(adds: list[Add], jobs: list[Job]) -> Iterable[tuple[list[Add], list[Job]]]:
    """Jobs and captures each by themselves, or where there are only some, their halves."""
    if adds and jobs:
        return ([], jobs), (adds, [])
    half = (len(adds) + len(jobs)) // 2
    return (adds[:half], jobs[:half]), (adds[half:], jobs[half:])


MOST_WAITING = 5_000
"""While nothing can be stored."""


class WrittenLater(Generic[T]):
    """What nothing depends on: it is collected in memory and written together, a little later, with another commit. All
    public methods are called on the loop's thread."""

    def __init__(
        self,
        writer: WriterThread,
        write: Callable[[Database, Sequence[T]], None],
        name: str,
        *,
        delay_s: float,
        at_once: int = MOST_WAITING,
    ) -> None:
        """`name` is what messages call it. It is written after `delay_s`, or once `at_once` of them wait."""
        self._writer, self._write, self._name, self.delay_s, self._at_once = writer, write, name, delay_s, at_once
        self._waiting: list[T] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def add(self, one: T) -> None:
        if self._is_closed or len(self._waiting) >= MOST_WAITING:
            return
        self._waiting.append(one)
        if len(self._waiting) >= self._at_once:
            self.flush()
        elif self._timer is None:
            self._flush_later()

    def _flush_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.delay_s, self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []

        def failed(error: Exception) -> None:
            if not isinstance(error, StorageUnavailableError):
                log.error("%d %s could not be stored", len(waiting), self._name, exc_info=error)
            elif isinstance(error, NotAllowedError) or self._is_closed:
                log.debug("%d %s are lost: %s", len(waiting), self._name, error)
            else:
                self._waiting[:0] = waiting
                if self._timer is None:
                    self._flush_later()

        if waiting:
            try:
                self._writer.put(Job(lambda database: self._write(database, waiting), nothing, failed))
            except StorageUnavailableError as error:
                self._is_closed = True  # the writer is
                failed(error)

    async def close(self) -> None:
        """Write what waits; if that fails it is lost."""
        self._is_closed = True
        if self._waiting:
            self.flush()
            with suppress(StorageUnavailableError):
                await self._writer.run(nothing)  # in the same commit
