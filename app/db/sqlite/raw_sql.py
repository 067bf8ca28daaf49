"""The connection underneath peewee, for statements that peewee cannot write or that cost too much when it does.

What goes through peewee's query builder takes 60 to 150 microseconds longer, most of them under the interpreter's lock
that the loop needs too. All other reads and writes are queries on the models. These files write SQL (a test compares):

| file | why |
|---|---|
| `search/index/group.py` | full-text tables, and others for each group of requests: no models |
| `search/index/index_file.py` | the same, in a file of its own |
| `search/index/trigrams.py` | full-text tables |
| `sqlite/backup/copy.py` | SQLite's own backup, on files that are not the store's |
| `sqlite/backup/damage.py` | SQLite's own checks, and bodies read in one pass, of any file |
| `sqlite/backup/database_checks.py` | files that may be damaged, of another version, or search indexes |
| `sqlite/backup/integrity.py` | a connection and a thread of its own, for `quick_check` |
| `sqlite/backup/rescue.py` | a file that may be damaged anywhere, row by row |
| `sqlite/body_parts.py` | parts of bodies, in the statements of a commit and of each read |
| `sqlite/captures.py` | any number of rows in one statement, for each capture; marks in steps, by pairs of columns |
| `sqlite/cleanup.py` | pragmas; purges: a parameter used three times, `+seq` keeps SQLite from a wrong index |
| `sqlite/clock_check.py` | joins in a fixed order: each endpoint's newest requests by the list's index |
| `sqlite/connection.py` | pragmas, and a check of the file before peewee may open it |
| `sqlite/counts.py` | once in each commit of captures, and around each step of a purge |
| `sqlite/deliveries/deliveries.py` | one for each delivery of a replay: 5 microseconds instead of 145 |
| `sqlite/deliveries/delivery_results.py` | all results that wait, in a few statements a commit; the oldest attempts |
| `sqlite/deliveries/targets.py` | any number of rows in one statement; a file that is opened without the store |
| `sqlite/deliveries/unsent.py` | around each step of a purge, from a select that is passed in; `INDEXED BY` |
| `sqlite/identification.py` | background steps of 8 ms: `executemany`, which peewee does not have |
| `sqlite/migrations.py` | the statements of released versions, unchanged; files that may be of another program |
| `sqlite/raw_sql.py` | transactions that begin by taking the lock, and savepoints |
| `sqlite/reads/queries.py` | one request for each call that waits; counts from one index (`INDEXED BY`); fixed joins |
| `sqlite/retention.py` | purges: joins in a fixed order |
| `sqlite/schema.py` | indexes with conditions, and triggers |
| `sqlite/search/descriptions.py` | any number of IDs as one parameter, with a part of each body |
| `sqlite/search/indexing.py` | background steps that read the search text of requests |
| `sqlite/search/search.py` | the conditions are written by the search; each step is measured in milliseconds |
| `sqlite/search/sql_filter.py` | the same |
| `sqlite/trash.py` | any number of IDs and of spans in one statement |
| `sqlite/writer/disk_reserve.py` | pragmas |
| `sqlite/writer/file_watch.py` | a connection of its own, which must not use the cache of another |
| `sqlite/writer/insert.py` | the captures themselves: many rows a statement, prepared once |
| `sqlite/writer/writer.py` | pragmas, on the connection it owns |
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import msgspec
from peewee import SQL, SqliteDatabase


def raw(database: SqliteDatabase) -> sqlite3.Connection:
    """The calling thread's own connection, which must be open."""
    return cast(sqlite3.Connection, cast(Any, database).connection())


def newest_seq(database: SqliteDatabase) -> int:
    """The number of the newest request that was ever stored, 0 if none was."""
    return newest_number(database, "capture")


def newest_number(database: SqliteDatabase, table: str) -> int:
    """The highest number that a row of `table` ever had, 0 if it never had any."""
    row = raw(database).execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if row is None else int(row[0])


def json_list(values: Collection[str] | Collection[int]) -> str:
    """Any number of values as one parameter, for SQLite's `json_each`: a statement has room for 32,766 parameters."""
    return msgspec.json.encode(tuple(values)).decode()


def sql_list(values: Collection[str] | Collection[int]) -> SQL:
    """The same as the right-hand side of `in_`."""
    return SQL("(SELECT value FROM json_each(?))", (json_list(values),))


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, keep_waiting: Callable[[], bool]) -> Iterator[None]:
    """A transaction that holds the write lock from the start.

    While another program holds that lock, `keep_waiting` is asked after each busy timeout.
    """
    try:
        _begin(connection, keep_waiting)
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have rolled it back already; if the rollback fails, the next BEGIN reports it.
        with contextlib.suppress(sqlite3.Error):
            connection.rollback()
        raise


def _begin(connection: sqlite3.Connection, keep_waiting: Callable[[], bool]) -> None:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not keep_waiting():
                raise
        else:
            return


@contextlib.contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """A part of a transaction that is undone by itself when it fails."""
    connection.execute("SAVEPOINT alone")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has rolled everything back already
            connection.execute("ROLLBACK TO alone")
            connection.execute("RELEASE alone")
        raise
    connection.execute("RELEASE alone")
