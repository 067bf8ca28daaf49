"""The index in a file of its own, so that no capture waits for it; it can be thrown away and made anew at any time.

Requests are grouped by their numbers, one full-text table a group: a group whose requests are all deleted is dropped
whole, because contentless tables of SQLite 3.40 cannot forget single rows. Fewer than three characters are asked for by
the runs that begin with them, which FTS5 lists itself.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.core.model import Record
from app.db.connection import companions
from app.db.search.runs import TABLE, Runs, Sample
from app.db.search.wanted import NOWHERE, Wanted, expression

FILE_NAME = "search.db"
GROUP = 32_768
"""Numbers of requests in a group."""
_FORM = 2
"""The form of the file; another one is made anew."""

_TABLES = (
    "CREATE TABLE state (form INTEGER NOT NULL, instance TEXT NOT NULL, upto INTEGER NOT NULL) STRICT",
    "CREATE TABLE span (number INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT",
    "CREATE TABLE gap (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT",
    f"CREATE VIRTUAL TABLE sample {TABLE}",
)
_PRAGMAS = ("auto_vacuum = full", "locking_mode = exclusive", "journal_mode = wal", "synchronous = normal")
_MORE_PRAGMAS = ("cache_size = -8000", "temp_store = memory", "journal_size_limit = 8388608", "secure_delete = fast")


class Entry(Record, frozen=True):
    """A request for the index."""

    seq: int
    received_at: int
    text: str


class Contents(Record, frozen=True):
    """What is indexed: requests numbered up to `upto`, save those in `gaps` (first and last number), which were not
    stored yet. `spans` are the times of each group's oldest and newest request."""

    upto: int = 0
    spans: dict[int, tuple[int, int]] = {}
    gaps: tuple[tuple[int, int], ...] = ()


class IndexFile:
    """One connection; all methods are called on one thread."""

    def __init__(self, path: Path, instance: str, newest: int) -> None:
        """Open it, or make it anew when it belongs to another store or knows of requests above `newest`."""
        self._path = path
        try:
            self._open()
            held = self._connection.execute("SELECT form, instance, upto FROM state").fetchone()
            fits = held is not None and held[:2] == (_FORM, instance) and held[2] <= newest
        except sqlite3.DatabaseError:
            fits = False
        if not fits:
            self.remove()
            self._open()
            with self._transaction():
                for statement in _TABLES:
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO state VALUES (?, ?, 0)", (_FORM, instance))
        self._sample = Sample(self._connection)

    def contents(self) -> Contents:
        """What is indexed."""
        execute = self._connection.execute
        (upto,) = execute("SELECT upto FROM state").fetchone()
        spans = {number: (oldest, newest) for number, oldest, newest in execute("SELECT * FROM span")}
        return Contents(upto=upto, spans=spans, gaps=tuple(execute("SELECT first, last FROM gap ORDER BY first")))

    def add(self, entries: Sequence[Entry], upto: int, gaps: Sequence[tuple[int, int]]) -> Contents:
        """Index requests: all up to `upto` are then, save those in `gaps`."""
        with self._transaction():
            for entry in entries:
                number = entry.seq // GROUP
                self._connection.execute(
                    "INSERT INTO span VALUES (?1, ?2, ?2) ON CONFLICT (number) DO UPDATE"
                    " SET oldest = min(oldest, ?2), newest = max(newest, ?2)",
                    (number, entry.received_at),
                )
            for number in sorted({entry.seq // GROUP for entry in entries}):
                self._connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS words_{number} {TABLE}")
                rows = [(entry.seq, entry.text) for entry in entries if entry.seq // GROUP == number]
                self._connection.executemany(f"INSERT INTO words_{number} (rowid, words) VALUES (?, ?)", rows)
                self._sample.add(rows)
            self._connection.execute("DELETE FROM gap")
            self._connection.executemany("INSERT INTO gap VALUES (?, ?)", gaps)
            self._connection.execute("UPDATE state SET upto = ?", (upto,))
        return self.contents()

    def find(self, wanted: Wanted, number: int) -> Sequence[int]:
        """The numbers of a group's requests that may be looked for."""
        try:
            match = expression(wanted, Runs(self._connection, number, self._sample))
            if match is None:
                return range(number * GROUP, (number + 1) * GROUP)
            if match == NOWHERE:
                return []
            rows = self._connection.execute(f"SELECT rowid FROM words_{number} WHERE words_{number} MATCH ?", (match,))
            return [seq for (seq,) in rows]
        except sqlite3.OperationalError:
            if number in self.contents().spans:
                raise
            return []  # the group was dropped: none of its requests is stored any more

    def drop(self, numbers: Sequence[int]) -> Contents:
        """Forget groups."""
        for number in numbers:
            with self._transaction():
                self._connection.execute(f"DROP TABLE IF EXISTS temp.runs_{number}")
                self._connection.execute(f"DROP TABLE IF EXISTS words_{number}")
                self._connection.execute("DELETE FROM span WHERE number = ?", (number,))
        return self.contents()

    def close(self) -> None:
        """Close the connection. Twice is harmless."""
        self._connection.close()

    def remove(self) -> None:
        """Close it and delete the file."""
        self.close()
        for file in (self._path, *companions(self._path)):
            file.unlink(missing_ok=True)

    def _open(self) -> None:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
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
