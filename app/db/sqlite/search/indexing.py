"""Updates the search index in the background: in small batches on its own thread, slowly while requests come in."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from peewee import Database

from app.core.errors import StorageUnavailableError
from app.core.events import Captured, DeletionPurged, Event, Purged
from app.db.background_worker import BackgroundWorker
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.search.candidate import Candidate
from app.db.search.index.group import SIZE, IndexEntry
from app.db.search.index.index_file import GROUP, IndexContents, IndexFile
from app.db.search.index.index_query import IndexQuery
from app.db.search.index.requests import json_leaves, read_batch
from app.db.search.index.terms import ColumnValues, key_of, terms_of
from app.db.search.index.trigrams import INDEXED, indexed_text
from app.db.sqlite.connection import is_out_of_space


def entry(seq: int, received_at: int, size: int, request: Candidate, columns: ColumnValues) -> IndexEntry:
    """A request as it is indexed. `size`: bytes of the body."""
    known = json_leaves(request)
    numbers = [(key_of(path), value) for path, value in known.numbers]
    # A request that is too long to be indexed completely is examined in every search anyway.
    readable = request.readable_texts(only_changed=True) if len(request.text) <= INDEXED else []
    return IndexEntry(
        seq=seq,
        received_at=received_at,
        text=indexed_text(request.text, readable, request.headers, whole=request.is_whole),
        terms=terms_of(columns, request.target, request.headers, known, "\n".join((request.text, *readable))),
        numbers=((SIZE, float(size)), *numbers),
    )


log = logging.getLogger(__name__)
T = TypeVar("T")

BATCH = 64
"""Requests indexed at once: some 20 ms of work on two threads, which blocks the window for that time. Fewer if they are
long, see `read_batch`."""
MOST_WAITING = 1_000
"""Maximum requests waiting to be indexed: searches read them one by one."""
LOOKUP_S = 0.01
"""While nothing is found, the next groups are queried without returning to the loop, which often takes longer."""
ROOM_S = 2.0
"""How often free space is checked while the disk is nearly full."""
REST = 16.0
"""The pause between steps while requests come in, as a multiple of the time a step took."""


class Index:
    """All public methods are called on the loop's thread. Errors of the file are logged; searches then scan.

    `has_room`, called on the index's thread, says whether the disk has room for an index; without room nothing is
    indexed.
    """

    def __init__(self, path: Path, readers: Readers, has_room: Callable[[], bool]) -> None:
        self._path, self._readers, self._has_room = path, readers, has_room
        self._thread = ThreadPoolExecutor(1, "hookline-index")
        self._file: IndexFile | None = None
        self._worker = BackgroundWorker("hookline-index", self._run)
        self._instance, self._newest = "", 0
        self._captured = self._waiting = 0
        self._cancelled = self._stopped = False
        self.contents = IndexContents()

    def start(self, instance: str, newest: int) -> None:
        """Index the store of this `instance`, whose highest number so far is `newest`."""
        self._instance, self._newest = instance, newest
        self._waiting = newest
        self._worker.wake()

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Captured):
            self._captured += len(event.summaries)
            self._waiting += len(event.summaries)
            if self._waiting > MOST_WAITING:
                self._worker.wake()
        elif isinstance(event, Purged | DeletionPurged):
            self._worker.wake()

    async def find(self, query: IndexQuery, zones: Sequence[Sequence[int]]) -> list[Collection[int]] | None:
        """The numbers of requests that may match, for one or more of the first zones, each a list of groups; None when
        the index cannot be queried."""
        file = self._file
        if file is None:
            return None
        try:
            return await self._on_thread(partial(file.find_first, query, zones, LOOKUP_S))
        except (sqlite3.Error, RuntimeError) as error:  # RuntimeError: the thread was shut down
            log.warning("the search index cannot be read: %s", error)
            return None

    async def stop(self) -> None:
        """Stop after the current batch, and close the file. Twice is harmless."""
        await self._worker.stop()
        if not self._stopped:
            self._stopped = True
            await self._on_thread(self._close)  # after the thread's current job
            self._thread.shutdown()

    async def _run(self) -> None:
        try:
            while not await self._follow():
                await self._wait_for_room()
        except (sqlite3.Error, OSError, StorageUnavailableError) as error:
            log.warning("the search index is given up until the next start: %s", error)
            self._cancelled = True
        except Exception:
            log.exception("the search index is given up until the next start")
            self._cancelled = True
        if self._cancelled:
            await self._give_up()

    async def _follow(self) -> bool:
        """Index what waits, in a file that is opened once it is worthwhile; False when the disk has no room for it."""
        if self._cancelled or (self._file is None and not await self._is_worthwhile()):
            return True
        try:
            if self._file is None:
                self.contents = await self._on_thread(partial(self._open, self._newest))
            await self._catch_up()
        except sqlite3.Error as error:
            if not is_out_of_space(error) or await self._on_thread(self._has_room):
                raise
            self._newest = max(self._newest, self.contents.upto)
            await self._give_up()
            return False
        return True

    async def _is_worthwhile(self) -> bool:
        """Whether there is a file, as far as the folder lets that be seen, or much to index."""
        return self._waiting > MOST_WAITING or await self._on_thread(partial(os.path.exists, self._path))

    async def _wait_for_room(self) -> None:
        """Wait until there is room, and meanwhile only remove deleted requests, which frees space."""
        while not await self._on_thread(self._has_room):
            if self._file is not None:
                await self._forget()
            await asyncio.sleep(ROOM_S)

    async def _give_up(self) -> None:
        self.contents = IndexContents()
        await self._on_thread(self._close)

    async def _catch_up(self) -> None:
        """Index what waits, and remove what was deleted."""
        assert self._file is not None
        while True:
            await self._wait_for_room()
            begin, captured = time.perf_counter(), self._captured
            job = partial(read_batch, after=self.contents.upto, most=BATCH, convert=entry)
            entries, more = await self._readers.run(job, slow=True)
            if not more:
                break  # searches examine the last few one by one
            self.contents = await self._on_thread(partial(self._file.add, entries))
            await asyncio.sleep((time.perf_counter() - begin) * REST if self._captured != captured else 0)
        self._waiting = len(entries)
        await self._forget()

    async def _forget(self) -> None:
        assert self._file is not None
        numbers = [number for number in self.contents.spans if number < self.contents.upto // GROUP]
        job = partial(deleted_groups, numbers=numbers, group=GROUP)
        deleted = await self._readers.run(job, slow=True)
        if deleted:
            self.contents = await self._on_thread(partial(self._file.drop, deleted))

    def _open(self, newest: int) -> IndexContents:
        self._file = IndexFile(self._path, self._instance, newest)
        return self._file.contents()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    async def _on_thread(self, job: Callable[[], T]) -> T:
        work: Any = self._thread.submit(job)
        return await asyncio.wrap_future(work)


def oldest_above(database: Database, upto: int, most: int) -> tuple[int, int | None]:
    """How many requests are numbered above `upto`, counted to `most` at most, and when the first of these was
    received."""
    statement = "SELECT count(*), min(received_at) FROM (SELECT received_at FROM capture WHERE seq > ? LIMIT ?)"
    count, oldest = raw(database).execute(statement, (upto, most)).fetchone()
    return count, oldest


def deleted_groups(database: Database, numbers: Sequence[int], group: int) -> list[int]:
    """The groups of which no request is stored any more."""
    query = "SELECT 1 FROM capture WHERE seq BETWEEN ? AND ? LIMIT 1"
    execute = raw(database).execute
    return [number for number in numbers if not execute(query, (number * group, number * group + group - 1)).fetchone()]
