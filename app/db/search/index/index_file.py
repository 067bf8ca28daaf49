"""The index in a file of its own, so that captures never wait for it; it can be deleted and rebuilt at any time.

Requests are grouped by their numbers, with tables for each group: of trigrams, of terms, of how often each term occurs,
and of numbers. A group whose requests are all deleted is dropped as a whole, because contentless tables of SQLite 3.40
cannot delete single rows.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from app.core.record import Record
from app.data_folder.database_files import remove_database
from app.db.search.index.group import IndexEntry, IndexGroup, add_entries, create_tables, drop_tables
from app.db.search.index.index_query import IndexQuery
from app.db.search.index.trigrams import TRIGRAM_TABLE, TrigramSample

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
                self._add(number, [entry for entry in entries if entry.seq // GROUP == number])
            self._connection.execute("UPDATE state SET upto = ?", (entries[-1].seq,))
        return self.contents()

    def find(self, query: IndexQuery, number: int) -> Collection[int]:
        """The numbers of a group's requests that may match."""
        try:
            found = IndexGroup(self._connection, number, self._sample, most=GROUP // 2).may_have(query)
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
                drop_tables(self._connection, number)
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

    def _add(self, number: int, entries: Sequence[IndexEntry]) -> None:
        create_tables(self._connection, number)
        add_entries(self._connection, number, entries)
        self._sample.add([(entry.seq, entry.text) for entry in entries])

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
