"""Indexes stored requests in the background, on a thread of its own: when, and how those that wait are read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

from peewee import Database

from app.core.events import Captured, DeletionPurged, Event, Purged
from app.db.body_parts import FIRST_PART
from app.db.deleting import SENT
from app.db.part import BackgroundWorker
from app.db.raw_sql import stream
from app.db.search.candidate import NO_JSON, Candidate, UnpackBudget
from app.db.search.index_terms import ColumnValues, JsonLeaves, find_json_leaves

T = TypeVar("T")

BATCH = 64
"""Requests indexed at once: some 20 ms of work, which blocks the window for that time, and may hold up a deletion.
Fewer if they are long, see `read_batch`."""
MOST_WAITING = 1_000
"""Maximum requests waiting to be indexed: searches examine them one by one."""
REST = 16.0
"""The pause between steps while this program captures, as a multiple of the time a step took."""


class BackgroundIndex:
    """All public methods are called on the loop's thread. Errors are logged; searches then examine more requests."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "hookline-index")
        self._worker = BackgroundWorker("hookline-index", self._run)
        self._captured = self._waiting = 0
        self._cancelled = self._stopped = False

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Captured):
            self._captured += event.own  # what others capture takes nothing of this process
            self._waiting += len(event.summaries)
            if self._many_wait():
                self._worker.wake()
        elif isinstance(event, Purged | DeletionPurged):
            self._worker.wake()

    async def stop(self) -> None:
        """Stop after the current batch. Twice is harmless."""
        await self._worker.stop()
        if not self._stopped:
            self._stopped = True
            await self._interrupt()
            await self._on_thread(self._close)  # after the thread's current job
            self._thread.shutdown()

    def _many_wait(self) -> bool:
        return self._waiting > MOST_WAITING

    async def _run(self) -> None:
        raise NotImplementedError

    async def _interrupt(self) -> None:
        """End what would take the thread long."""

    def _close(self) -> None:
        """Close the file or the connection. On the thread."""
        raise NotImplementedError

    async def _rest(self, began: float, captured: int) -> None:
        """After a step that began then, when so many requests had been captured."""
        await asyncio.sleep((time.perf_counter() - began) * REST if self._captured != captured else 0)

    async def _on_thread(self, job: Callable[[], T]) -> T:
        work: Any = self._thread.submit(job)
        return await asyncio.wrap_future(work)


TEXT_AT_ONCE = 500_000
"""Characters of requests that are indexed at once: a second of work in SQLite's file, and a stop waits for it."""
IN_A_ROW, PAUSE_S = 4, 1e-4
"""After parsing this many requests, in a millisecond or two, the thread pauses: Python would let the loop run only
every 5 ms, and make it wait as long each time it returns from a system call."""
_SELECT = (
    "SELECT seq, received_at, size, target, headers, content_type, data,"
    f" method, CASE WHEN {SENT} THEN response_status END, source_address, complete, provider, event"
    f" FROM capture LEFT JOIN capture_body ON key = {FIRST_PART} WHERE seq > ? ORDER BY seq LIMIT ?"
)


def json_leaves(request: Candidate) -> JsonLeaves:
    """What is indexed of its JSON. One whose body was not unpacked to its end is marked as having more, and is examined
    in every search."""
    return JsonLeaves(more=not request.is_whole) if request.json is NO_JSON else find_json_leaves(request.json)


def read_batch(database: Database, after: int, convert: Callable[..., T]) -> tuple[list[T], bool]:
    """The next requests numbered above `after`, each as what `convert` makes of what is read of it; and whether there
    may be more. Within a transaction."""
    batch: list[T] = []
    length = 0
    for row in _requests_after(database, after, BATCH):
        batch.append(convert(*row))
        length += len(row[3].text)
        if length >= TEXT_AT_ONCE:
            return batch, True
    return batch, len(batch) == BATCH


def _requests_after(
    database: Database, after: int, limit: int
) -> Iterator[tuple[int, int, int, Candidate, ColumnValues]]:
    """Number, when it was received, bytes of the body, and what is indexed."""
    with closing(stream(database, _SELECT, (after, limit))) as rows:
        for at, row in enumerate(rows, 1):
            seq, received_at, size, target, headers, kind, data, method, status, source, complete, provider, event = row
            request = Candidate(
                target=target,
                content_type=kind,
                source=source,
                headers=headers,
                data=data,
                column_results={},
                budget=UnpackBudget(0),
            )
            columns = ColumnValues(
                method=method, status=status, source=source, complete=bool(complete), provider=provider, event=event
            )
            yield seq, received_at, size, request, columns
            if at % IN_A_ROW == 0:
                time.sleep(PAUSE_S)
