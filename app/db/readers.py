"""Three threads with read-only connections: two read lists and bodies, one does what takes longer, such as searches.

All read from snapshots and delay no capture, and no list waits for a search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from queue import Queue
from threading import Thread
from typing import Any, TypeVar

from peewee import Database

from app.core.errors import StorageUnavailableError

T = TypeVar("T")
THREADS, SLOW_THREADS = 2, 1

_Job = tuple[Callable[[Database], Any], "asyncio.Future[Any]"]


class Readers:
    """Runs functions of a read-only database, unless their caller has given up. All public methods are called on the
    loop's thread.
    """

    def __init__(
        self,
        database: Database,
        trouble: Callable[[BaseException], str | None],
        on_trouble: Callable[[BaseException], None] = lambda _: None,
        *,
        is_lost: Callable[[BaseException], bool] = lambda _: False,
        not_allowed: Callable[[BaseException], StorageUnavailableError | None] = lambda _: None,
    ) -> None:
        """`trouble` says why nothing can be read, None when the error is a bug of the program; then `on_trouble` is
        called, on the loop's thread. `is_lost`: whether an error says that the connection to a server is gone.
        `not_allowed` is the error for what a server has refused."""
        self._database, self._trouble, self._on_trouble, self._is_lost = database, trouble, on_trouble, is_lost
        self._not_allowed = not_allowed
        self._loop = asyncio.get_running_loop()
        self._quick: Queue[_Job | None] = Queue()
        self._slow: Queue[_Job | None] = Queue()
        self._threads: list[Thread] = []
        self._running = 0
        self._ended = asyncio.Event()
        self._closed = False

    async def connect(self) -> None:
        """Start the threads; returns when those for quick reads have opened their connections."""
        opened = [self._loop.create_future() for _ in range(THREADS)]
        for future in opened:
            self._start(self._quick, (lambda _: None, future))
        for _ in range(SLOW_THREADS):
            self._start(self._slow)
        await asyncio.gather(*opened)

    def _start(self, queue: Queue[_Job | None], *first: _Job) -> None:
        name = f"hookline-reader-{len(self._threads)}"
        thread = Thread(target=self._main, args=(queue, first), name=name, daemon=True)
        self._threads.append(thread)
        self._running += 1
        thread.start()

    async def run(self, job: Callable[[Database], T], *, slow: bool = False) -> T:
        """What `job` returns; StorageUnavailableError when the file cannot be read, or after `close`. Jobs that are not
        `slow` never wait for those that are."""
        if self._closed:
            raise StorageUnavailableError("Hookline is closing: nothing is read any more.")
        future: asyncio.Future[T] = self._loop.create_future()
        (self._slow if slow else self._quick).put((job, future))
        try:
            return await future
        finally:
            del future  # or its error would stay until garbage is collected

    async def close(self) -> None:
        """Finish waiting jobs, then close the connections on their threads. Twice is harmless."""
        if not self._closed:
            self._closed = True
            for queue in [self._quick] * THREADS + [self._slow] * SLOW_THREADS:
                queue.put(None)
        if self._threads:
            await self._ended.wait()
        for thread in self._threads:
            thread.join()

    def _main(self, queue: Queue[_Job | None], first: Sequence[_Job]) -> None:
        for run, future in chain(first, iter(queue.get, None)):
            if future.cancelled():  # the window shows something else by now
                continue
            try:
                result = self._read(run)
            except Exception as error:
                reason = self._trouble(error)
                unavailable: Exception | None = self._not_allowed(error)
                if unavailable is None:
                    text = f"The stored requests cannot be read. {reason}"
                    unavailable = StorageUnavailableError(text) if reason else error
                unavailable.__cause__ = error if reason else error.__cause__
                self._loop.call_soon_threadsafe(_settle, future, None, unavailable)
                if reason:
                    self._loop.call_soon_threadsafe(self._on_trouble, error)
            else:
                self._loop.call_soon_threadsafe(_settle, future, result, None)
        self._database.close()
        self._loop.call_soon_threadsafe(self._one_ended)

    def _read(self, run: Callable[[Database], Any]) -> Any:
        """A connection to a server may have been lost since the last read: then another one is made, once."""
        was_connected = not self._database.is_closed()
        try:
            if not was_connected:
                self._database.connect()
            return run(self._database)
        except Exception as error:
            if not self._is_lost(error):
                raise
            with suppress(Exception):
                self._database.close()
            if not was_connected:
                raise
        return self._read(run)

    def _one_ended(self) -> None:
        self._running -= 1
        if not self._running:
            self._ended.set()


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
