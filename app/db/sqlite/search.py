"""The search in SQLite: its index tells in steps which requests may match.

The index is in a file of its own, so that captures never wait for it; it can be deleted and rebuilt at any time. It is
updated in the background: in small batches on its own thread, slowly while requests come in.

Requests are grouped by their numbers, with tables for each group: of trigrams, of terms, of how often each term occurs,
and of numbers. A group whose requests are all deleted is dropped as a whole, because contentless tables of SQLite 3.40
cannot delete single rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from peewee import Database

from app.core.errors import StorageUnavailableError
from app.core.model import PageKey
from app.core.record import Record
from app.core.search.query import Term
from app.data_folder.database_files import remove_database
from app.db.part import Shared
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.search.background_index import BackgroundIndex, json_leaves, read_batch
from app.db.search.candidate import Candidate
from app.db.search.index_query import SIZE, IndexQuery, to_index_query
from app.db.search.index_terms import INDEXED, ColumnValues, combined_text, key_of, terms_of
from app.db.search.scan import ListSection, place_before
from app.db.search.search import Search as AnySearch
from app.db.search.search import zones
from app.db.sqlite.connection import is_out_of_space
from app.db.sqlite.search_group import ALWAYS, TRIGRAM_TABLE, IndexEntry, IndexGroup, TrigramSample

log = logging.getLogger(__name__)
T = TypeVar("T")

GROUP = 32_768
"""Numbers of requests in a group."""
_FORMAT = 6
"""The version of the file's format; a file of another version is rebuilt."""

_TABLES = (
    "CREATE TABLE state (form INTEGER NOT NULL, instance TEXT NOT NULL, upto INTEGER NOT NULL) STRICT",
    "CREATE TABLE span (number INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT",
    f"CREATE VIRTUAL TABLE sample {TRIGRAM_TABLE}",
)
_PRAGMAS = ("auto_vacuum = full", "locking_mode = exclusive", "journal_mode = wal", "synchronous = normal")
_MORE_PRAGMAS = ("cache_size = -8000", "temp_store = memory", "journal_size_limit = 8388608", "secure_delete = fast")


class IndexContents(Record, frozen=True):
    """What is indexed: requests numbered up to `upto`. `spans` are the times of each group's oldest and newest
    request."""

    upto: int = 0
    spans: dict[int, tuple[int, int]] = {}


class IndexFile:
    """One connection; all methods are called on one thread."""

    def __init__(self, path: Path, instance: str, newest: int) -> None:
        """Open the file, or rebuild it when it belongs to another store or contains requests above `newest`."""
        self._path = path
        self._open()
        try:
            self._set_up()
            stored = self._connection.execute("SELECT form, instance, upto FROM state").fetchone()
            fits = stored is not None and stored[:2] == (_FORMAT, instance) and stored[2] <= newest
        except sqlite3.DatabaseError:
            fits = False
        try:
            if not fits:
                self.remove()
                self._open()
                self._set_up()
                self._make(instance)
            self._sample = TrigramSample(self._connection)
        except BaseException:
            self.close()
            raise

    def contents(self) -> IndexContents:
        execute = self._connection.execute
        (upto,) = execute("SELECT upto FROM state").fetchone()
        spans = {number: (oldest, newest) for number, oldest, newest in execute("SELECT * FROM span")}
        return IndexContents(upto=upto, spans=spans)

    def add(self, entries: Sequence[IndexEntry]) -> IndexContents:
        """Index the next requests, in the order of their numbers."""
        with self._transaction():
            for entry in entries:
                number = entry.seq // GROUP
                self._connection.execute(
                    "INSERT INTO span VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE"
                    " SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)",
                    (number, entry.received_at, entry.received_at),
                )
            for number in sorted({entry.seq // GROUP for entry in entries}):
                self._group(number).add([entry for entry in entries if entry.seq // GROUP == number])
            self._sample.add([(entry.seq, entry.text) for entry in entries])
            self._connection.execute("UPDATE state SET upto = ?", (entries[-1].seq,))
        return self.contents()

    def find(self, query: IndexQuery, number: int) -> Collection[int]:
        """The numbers of a group's requests that may match."""
        try:
            found = self._group(number).may_have(query)
        except sqlite3.OperationalError:
            if number in self.contents().spans:
                raise
            return []  # the group was dropped: none of its requests is stored any more
        return range(number * GROUP, (number + 1) * GROUP) if found is None else found

    def find_first(self, query: IndexQuery, zones: Sequence[Sequence[int]], seconds: float) -> list[Collection[int]]:
        """The same for the first of `zones`, each a list of groups: down to one with any match, or until `seconds` have
        passed."""
        end = time.perf_counter() + seconds
        found: list[Collection[int]] = []
        for zone in zones:
            found.append({seq for number in zone for seq in self.find(query, number)})
            if found[-1] or time.perf_counter() > end:
                break
        return found

    def drop(self, numbers: Sequence[int]) -> IndexContents:
        for number in numbers:
            with self._transaction():
                self._group(number).drop()
                self._connection.execute("DELETE FROM span WHERE number = ?", (number,))
        return self.contents()

    def close(self) -> None:
        self._connection.close()

    def remove(self) -> None:
        """Close it and delete the file."""
        self.close()
        remove_database(self._path)

    def _make(self, instance: str) -> None:
        with self._transaction():
            for statement in _TABLES:
                self._connection.execute(statement)
            self._connection.execute("INSERT INTO state VALUES (?, ?, 0)", (_FORMAT, instance))

    def _group(self, number: int) -> IndexGroup:
        return IndexGroup(self._connection, number, self._sample, most=GROUP // 2)

    def _open(self) -> None:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)

    def _set_up(self) -> None:
        for pragma in (*_PRAGMAS, *_MORE_PRAGMAS):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.execute("COMMIT")


def entry(seq: int, received_at: int, size: int, request: Candidate, columns: ColumnValues) -> IndexEntry:
    """A request as it is indexed. `size`: bytes of the body."""
    known = json_leaves(request)
    numbers = [(key_of(path), value) for path, value in known.numbers]
    # A request that is too long to be indexed completely is examined in every search anyway.
    readable = request.readable_texts(only_changed=True) if len(request.text) <= INDEXED else []
    always, text = combined_text(request, readable)
    return IndexEntry(
        seq=seq,
        received_at=received_at,
        text=ALWAYS + text if always else text,
        terms=terms_of(columns, request.target, request.headers, known, "\n".join((request.text, *readable))),
        numbers=((SIZE, float(size)), *numbers),
    )


LOOKUP_S = 0.01
"""While nothing is found, the next groups are queried without returning to the loop, which often takes longer."""
ROOM_S = 2.0
"""How often free space is checked while the disk is nearly full."""


class Index(BackgroundIndex):
    """`has_room`, called on the index's thread, says whether the disk has room for an index; without room nothing is
    indexed.
    """

    def __init__(self, path: Path, readers: Readers, has_room: Callable[[], bool]) -> None:
        super().__init__()
        self._path, self._readers, self._has_room = path, readers, has_room
        self._file: IndexFile | None = None
        self._instance, self._newest = "", 0
        self.contents = IndexContents()

    def start(self, instance: str, newest: int) -> None:
        """Index the store of this `instance`, whose highest number so far is `newest`."""
        self._instance, self._newest = instance, newest
        self._waiting = newest
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
        return self._many_wait() or await self._on_thread(partial(os.path.exists, self._path))

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
            job = partial(read_batch, after=self.contents.upto, convert=entry)
            entries, more = await self._readers.run(job, slow=True)
            if not more:
                break  # searches examine the last few one by one
            self.contents = await self._on_thread(partial(self._file.add, entries))
            await self._rest(begin, captured)
        self._waiting = len(entries)
        await self._forget()

    async def _forget(self) -> None:
        assert self._file is not None
        numbers = [number for number in self.contents.spans if number < self.contents.upto // GROUP]
        job = partial(_deleted_groups, numbers=numbers)
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


def _deleted_groups(database: Database, numbers: Sequence[int]) -> list[int]:
    """The groups of which no request is stored any more."""
    query = "SELECT 1 FROM capture WHERE seq BETWEEN ? AND ? LIMIT 1"
    execute = raw(database).execute
    return [number for number in numbers if not execute(query, (number * GROUP, number * GROUP + GROUP - 1)).fetchone()]


UNINDEXED_MAX = 20_000
"""With this many requests not yet indexed, the index is not used."""


class Search(AnySearch):
    def __init__(self, shared: Shared, index: Index) -> None:
        super().__init__(shared)
        self._index = index

    async def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        contents, index_query = self._index.contents, to_index_query(narrowing)
        unindexed, oldest = 0, None
        if index_query is not None and contents.spans:
            job = partial(_oldest_above, upto=contents.upto)
            unindexed, oldest = await self._readers.run(job, slow=True)
        if index_query is None or not contents.spans or unindexed >= UNINDEXED_MAX:
            yield ListSection()
            return
        if oldest is not None and place.received_at >= oldest:
            yield ListSection(floor=place_before(oldest))
        parts = list(zones([(*span, number) for number, span in contents.spans.items()], place))
        while parts:
            found = await self._index.find(index_query, [numbers for _, numbers in parts])
            if found is None:
                yield ListSection()
                return
            for (floor, _), seqs in zip(parts, found, strict=False):
                yield ListSection(floor=floor, seqs=frozenset(seqs))
            parts = parts[len(found) :]


def _oldest_above(database: Database, upto: int) -> tuple[int, int | None]:
    """How many requests are numbered above `upto`, counted to `UNINDEXED_MAX` at most, and when the first of these was
    received."""
    statement = "SELECT count(*), min(received_at) FROM (SELECT received_at FROM capture WHERE seq > ? LIMIT ?)"
    count, oldest = raw(database).execute(statement, (upto, UNINDEXED_MAX)).fetchone()
    return count, oldest
