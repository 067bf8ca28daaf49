"""Stores the text of requests for searches, in the background: in small batches on its own thread and connection, one
node at a time.

The texts are in groups, by the numbers of their requests: each a table of its own, which gets its index once it is full
(to build it takes a third of the time that adding each text takes) and is dropped when all its requests are deleted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from peewee import Database, PeeweeException

from app.core.errors import StorageUnavailableError
from app.core.events import Captured, DeletionPurged, Event, Purged
from app.db.background_worker import BackgroundWorker
from app.db.postgres.database import PostgresDatabase, trouble
from app.db.postgres.schema import INDEX_LOCK, TEXT_LOCK
from app.db.postgres.search.text_filter import text_of
from app.db.raw_sql import execute, raw
from app.db.search.index.requests import requests_after

log = logging.getLogger(__name__)
T = TypeVar("T")

GROUP = 32_768
"""Numbers of requests in a group: to look at the texts of one without an index takes some 30 ms."""
CANCEL_S = 2.0
BATCH = 64
"""Requests at once: some 20 ms of work, which a deletion may have to wait for."""
MOST_WAITING = 1_000
"""Maximum requests whose texts wait to be stored: searches examine them one by one."""
REST = 16.0
"""The pause between steps while requests come in, as a multiple of the time a step took."""
MISSING = (
    "Searches are slower than they could be: the database lacks the extension pg_trgm. Have an administrator of the"
    " database server run CREATE EXTENSION pg_trgm in it, then restart Hookline."
)
_OPERATORS = (
    "SELECT quote_ident(nspname) FROM pg_opclass JOIN pg_namespace ON pg_namespace.oid = opcnamespace"
    " WHERE opcname = 'gin_trgm_ops'"
)
_EXTEND = (
    "INSERT INTO search_group (first, upto, oldest, newest) VALUES (?, ?, ?, ?) ON CONFLICT (first) DO UPDATE SET"
    " upto = excluded.upto, oldest = least(search_group.oldest, excluded.oldest),"
    " newest = greatest(search_group.newest, excluded.newest)"
)


class Index:
    """All public methods are called on the loop's thread. Errors are logged; searches then examine more requests."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, "hookline-index")
        self._connection: psycopg.Connection[Any] | None = None
        self._worker = BackgroundWorker("hookline-index", self._run)
        self._captured = self._waiting = 0
        self._cancelled = self._stopped = self._is_building = False

    def start(self, newest: int) -> None:
        """`newest` is the highest number of a request so far."""
        self._waiting = newest
        if newest > MOST_WAITING:
            self._worker.wake()

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Captured):
            self._captured += len(event.summaries)
            self._waiting += len(event.summaries)
            if self._waiting > MOST_WAITING:
                self._worker.wake()
        elif isinstance(event, Purged | DeletionPurged):
            self._worker.wake()

    async def stop(self) -> None:
        """Stop after the current batch, and close the connection. Twice is harmless."""
        await self._worker.stop()
        if not self._stopped:
            self._stopped = True
            if self._is_building and self._connection is not None:
                with suppress(psycopg.Error):  # it may be building an index, which goes on with the next start
                    await asyncio.to_thread(self._connection.cancel_safe, timeout=CANCEL_S)
            await self._on_thread(self._disconnect)  # after the thread's current job
            self._thread.shutdown()

    async def _run(self) -> None:
        if self._cancelled:
            return
        try:
            await self._follow()
        except (psycopg.Error, PeeweeException) as error:
            await self._on_thread(self._disconnect)
            if trouble(error) is None:
                raise
            raise StorageUnavailableError(str(error)) from error
        except Exception:
            log.exception("the search index is given up until the next start")
            self._cancelled = True
            await self._on_thread(self._disconnect)

    async def _follow(self) -> None:
        """Store the texts that wait, and remove those of deleted requests, unless another node does."""
        self._waiting = 0
        if not await self._on_thread(self._begin):
            return
        count = BATCH
        while count == BATCH:
            begin, captured = time.perf_counter(), self._captured
            count = await self._on_thread(self._add)
            await asyncio.sleep((time.perf_counter() - begin) * REST if self._captured != captured else 0)
        self._waiting += count  # searches examine the last few one by one
        await self._on_thread(self._tidy)

    # -- on the index's thread -----------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """Whether no other node is at it."""
        if self._database.is_closed():
            self._database.connect()
            self._connection = raw(self._database)
            # To build an index takes longer than other statements may.
            execute(self._database, "SET statement_timeout TO 0; SET lock_timeout TO 0; SET synchronous_commit TO off")
        return bool(execute(self._database, f"SELECT pg_try_advisory_lock({INDEX_LOCK})").fetchone()[0])

    def _add(self) -> int:
        """Store the texts of some requests; returns how many, fewer than `BATCH` when no more wait."""
        database = self._database
        with database.atomic():
            execute(database, f"SELECT pg_advisory_xact_lock({TEXT_LOCK})")
            (upto,) = execute(database, "SELECT coalesce(max(upto), 0) FROM search_group").fetchone()
            rows = [(seq, at, *text_of(request)) for seq, at, _, request, _ in requests_after(database, upto, BATCH)]
            if len(rows) < BATCH:
                return len(rows)
            for place in sorted({seq // GROUP for seq, _, _, _ in rows}):
                self._add_to_group(place * GROUP, [row for row in rows if row[0] // GROUP == place])
        return len(rows)

    def _add_to_group(self, first: int, rows: list[tuple[int, int, bool, str]]) -> None:
        connection, times = raw(self._database), [at for _, at, _, _ in rows]
        name = f"search_text_{first}"
        if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0] is None:
            # To attach a table waits for nobody who reads; to create it as a partition would.
            bounds = f"FROM ({first}) TO ({first + GROUP})"
            connection.execute(f"CREATE TABLE {name} (LIKE search_text INCLUDING ALL)")
            connection.execute(f"ALTER TABLE search_text ATTACH PARTITION {name} FOR VALUES {bounds}")
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} (capture_seq, always, text) FROM STDIN") as copy:
            for seq, _, always, text in rows:
                copy.write_row((seq, "t" if always else "f", text))
        execute(self._database, _EXTEND, (first, rows[-1][0], min(times), max(times)))

    def _tidy(self) -> None:
        """Drop the groups whose requests are all deleted, and give those that are full their index."""
        database, upto = self._database, 0
        groups = execute(database, "SELECT first, upto, indexed FROM search_group ORDER BY first").fetchall()
        operators = operators_of(database)
        if groups:
            upto = groups[-1][1]
        for first, _, indexed in groups:
            end = first + GROUP
            if end > upto:
                continue
            kept = "SELECT EXISTS (SELECT 1 FROM capture WHERE seq >= ? AND seq < ?)"
            if not execute(database, kept, (first, end)).fetchone()[0]:
                with database.atomic():
                    execute(database, "DELETE FROM search_group WHERE first = ?", (first,))
                    execute(database, f"DROP TABLE search_text_{first}")
            elif operators is not None and not indexed:
                self._is_building = True
                try:
                    self._build(first, operators)
                finally:
                    self._is_building = False
        execute(database, f"SELECT pg_advisory_unlock({INDEX_LOCK})")

    def _build(self, first: int, operators: str) -> None:
        """Without a lock that deletions would wait for; what is there is what a stop has left."""
        name = f"search_text_{first}_text"
        execute(self._database, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        execute(
            self._database,
            f"CREATE INDEX CONCURRENTLY {name} ON search_text_{first} USING gin (text {operators}.gin_trgm_ops)",
        )
        execute(self._database, "UPDATE search_group SET indexed = true WHERE first = ?", (first,))

    def _disconnect(self) -> None:
        self._connection = None
        with suppress(Exception):
            self._database.close()

    async def _on_thread(self, job: Callable[[], T]) -> T:
        work: Any = self._thread.submit(job)
        return await asyncio.wrap_future(work)


def operators_of(database: Database) -> str | None:
    """The schema of pg_trgm; None without it."""
    row = execute(database, _OPERATORS).fetchone()
    return None if row is None else str(row[0])
