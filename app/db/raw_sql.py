"""The connection underneath peewee, for statements that peewee cannot write or that cost too much when it does.

What goes through peewee's query builder takes 60 to 150 microseconds longer, most of them under the interpreter's lock
that the loop needs too. All other reads and writes are queries on the models.

`a BETWEEN x AND x ORDER BY a, seq` is how SQL for both engines asks for the first few rows by an index on `(a, seq)`:
with `a = x ORDER BY seq`, PostgreSQL may read the table by its key until it has found them, all of it if they are last.

These files write SQL (a test compares):

| file | why |
|---|---|
| `body_parts.py` | parts of bodies, in the statements of a commit and of each read |
| `captures.py` | any number of rows in one statement, for each capture; marks in steps, by pairs of columns |
| `counts.py` | once in each commit of captures, and around each step of a purge |
| `deleting.py` | purges: a parameter used three times, `+seq` keeps SQLite from a wrong index |
| `deliveries/deliveries.py` | one for each delivery of a replay: 5 microseconds instead of 145 |
| `deliveries/delivery_results.py` | all results that wait, in a few statements a commit; the oldest attempts |
| `deliveries/targets.py` | any number of rows in one statement; what is wrong with each target, in one |
| `deliveries/unsent.py` | around each step of a purge, from a select that is passed in; `INDEXED BY` |
| `endpoints.py` | a column that only PostgreSQL's table has; an update from another table, which a copy makes, too |
| `identification.py` | background steps of 8 ms: `executemany`, which peewee does not have |
| `models.py` | indexes with conditions |
| `postgres/database.py` | what each connection is set to |
| `postgres/follow.py` | once a second: what other nodes did; a table that only PostgreSQL has |
| `postgres/nodes.py` | tables that only PostgreSQL has |
| `postgres/roles.py` | roles and their rights |
| `postgres/schema.py` | functions, triggers and partitions |
| `postgres/search.py` | texts of requests: a table for each group, which no model names; what a search asks of them |
| `postgres/server_checks.py` | a database that is read without the store |
| `postgres/store.py` | the server's clock, and the sizes of its tables |
| `postgres/store_place.py` | locks of the server, and tables that only PostgreSQL has |
| `postgres/writer.py` | in each commit: the lock, numbers, partitions; bodies and deliveries of captures |
| `queries.py` | one request for each call that waits; counts from one index (`INDEXED BY`); fixed joins |
| `raw_sql.py` | many rows a statement, prepared once; numbers that each engine keeps in a place of its own |
| `search/background_index.py` | background steps that read the search text of requests |
| `search/redacted.py` | any number of IDs as one parameter, with a part of each body |
| `search/scan.py` | the conditions are written by the search; each step is measured in milliseconds |
| `search/sql_filter.py` | the same |
| `sqlite/backups.py` | SQLite's own backup, on files that are not the store's |
| `sqlite/connection.py` | pragmas, and a check of the file before peewee may open it |
| `sqlite/damage.py` | SQLite's own checks, and bodies read in one pass, of any file |
| `sqlite/database_checks.py` | files that may be damaged, of another version, or search indexes |
| `sqlite/disk_reserve.py` | pragmas |
| `sqlite/file_watch.py` | a connection of its own, which must not use the cache of another |
| `sqlite/rescue.py` | a file that may be damaged anywhere, row by row |
| `sqlite/retention.py` | pragmas; joins in a fixed order: purges, and each endpoint's newest requests |
| `sqlite/schema.py` | triggers; the statements of released versions, unchanged; files that may be of another program |
| `sqlite/search.py` | full-text tables and others in a file of its own; steps that read what is not indexed |
| `sqlite/search_group.py` | full-text tables, and others for each group of requests: no models |
| `sqlite/writer.py` | the captures themselves; pragmas, and transactions that begin by taking the lock |
| `store_copy.py` | any table's rows, by COPY where there is that, and bodies as they are read |
| `trash.py` | any number of IDs and of spans in one statement |
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, cast

import msgspec
from peewee import SQL, Database, Node

STREAMED = 50
"""Rows that PostgreSQL sends at a time unless told otherwise, each maybe with a body of a megabyte."""


def raw(database: Database) -> Any:
    """The calling thread's own connection, which must be open: sqlite3's or psycopg's. Both have `execute`, which
    returns a cursor."""
    return cast(Any, database).connection()


def execute(database: Database, text: str, values: Any = ()) -> Any:
    """A cursor with the rows of a statement, which is written as `statement` says."""
    return raw(database).execute(statement(database, text), values)


def execute_many(database: Database, text: str, rows: Iterable[Sequence[Any]]) -> None:
    """The same for each of these values."""
    raw(database).cursor().executemany(statement(database, text), rows)


def stream(database: Database, text: str, values: Any = (), *, at_once: int = STREAMED) -> Any:
    """The rows of a statement, read as they are taken, so many `at_once`; to be closed. Within a transaction."""
    if is_sqlite(database):
        return execute(database, text, values)
    cursor = raw(database).cursor(name="rows")
    cursor.itersize = at_once
    try:
        return cursor.execute(statement(database, text), values)
    except BaseException:
        cursor.close()
        raise


def is_sqlite(database: Database) -> bool:
    return bool(database.param == "?")


def statement(database: Database, text: str) -> str:
    """The text as the database's driver wants it. Parameters are written as SQLite has them: `?` or `:name`;
    `IN numbers(?)` and `IN names(?)` take any number of values as one parameter, see `json_list`; where only a query
    will do, it is `SELECT value FROM numbers(?)`. Only SQLite is told which index to use (`INDEXED BY`), and the order
    of a join (`CROSS JOIN … ON`)."""
    return of_sqlite(text) if is_sqlite(database) else _of_postgres(text)


@cache
def of_sqlite(text: str) -> str:
    """For a connection that is no database of peewee's, as `statement`."""
    return _QUERIES.sub(r"SELECT value FROM json_each(\2)", _LISTS.sub(r"\1IN (SELECT value FROM json_each(\3))", text))


@cache
def _of_postgres(text: str) -> str:
    text = _JOINS.sub(r" JOIN \1", _QUERIES_IN.sub(r"IN \1", _HINT.sub("", text)))
    text = _LISTS.sub(lambda found: f"{'<> ALL' if found[1] else '= ANY'}({found[2]}({found[3]}))", text)
    return _PARAMETERS.sub(lambda found: f"%({found[1]})s" if found[1] else "%s", text.replace("%", "%%"))


_LISTS = re.compile(r"(NOT )?IN (numbers|names)\((.*?)\)")
_QUERIES = re.compile(r"SELECT value FROM (numbers|names)\((.*?)\)")
_QUERIES_IN = re.compile(r"IN \(SELECT value FROM ((numbers|names)\(.*?\))\)")
_HINT = re.compile(r" INDEXED BY \w+")
_JOINS = re.compile(r" CROSS JOIN (\w+ (ON|USING))")
_PARAMETERS = re.compile(r"(?<![:\w]):([a-z_]+)|\?")


def is_missing_reference(error: BaseException) -> bool:
    """Whether a row refers to one that is not there."""
    codes = getattr(error, "sqlite_errorname", None), getattr(error, "sqlstate", None)
    return codes[0] == "SQLITE_CONSTRAINT_FOREIGNKEY" or codes[1] == "23503"


def newest_seq(database: Database) -> int:
    """The number of the newest request that was ever stored, 0 if none was."""
    return newest_number(database, "capture")


def newest_number(database: Database, table: str, column: str = "seq") -> int:
    """The highest number that a row of `table` ever had, 0 if it never had any."""
    if is_sqlite(database):
        row = raw(database).execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    else:
        row = raw(database).execute(f"SELECT last_value FROM {table}_{column}_seq WHERE is_called").fetchone()
    return 0 if row is None else int(row[0])


def use_numbers(database: Database, table: str, column: str, upto: int) -> None:
    """Let new rows of `table` have higher numbers than this, which is at least 1."""
    if not is_sqlite(database):
        raw(database).execute(f"SELECT setval('{table}_{column}_seq', %s)", (upto,))
    elif not raw(database).execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (upto, table)).rowcount:
        raw(database).execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, upto))


def json_list(values: Collection[str] | Collection[int]) -> str:
    """Any number of values as one parameter: a statement has room for 32,766 parameters."""
    return msgspec.json.encode(tuple(values)).decode()


@contextlib.contextmanager
def savepoint(connection: Any) -> Iterator[None]:
    """A part of a transaction that is undone by itself when it fails."""
    connection.execute("SAVEPOINT alone")
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # a full disk has rolled everything back already
            connection.execute("ROLLBACK TO alone")
            connection.execute("RELEASE alone")
        raise
    connection.execute("RELEASE alone")


class _List(Node):
    def __init__(self, values: Collection[str] | Collection[int]) -> None:
        self._values = values

    def __sql__(self, context: Any) -> Any:
        if context.state.param == "?":
            text = "(SELECT value FROM json_each(?))"
        else:
            kind = next(("names" if isinstance(value, str) else "numbers" for value in self._values), None)
            if kind is None:
                return context.literal("(NULL)")
            text = f"(SELECT unnest({kind}(%s)))"
        return context.sql(SQL(text, (json_list(self._values),)))


def sql_list(values: Collection[str] | Collection[int]) -> Node:
    """The same as the right-hand side of `in_`."""
    return _List(values)


MOST_ROWS = 64
"""In a statement: SQLite keeps each prepared, one for each number of rows."""


class ManyRows:
    """`INSERT … VALUES (…), (…)` for any number of rows: one statement for each `MOST_ROWS`."""

    def __init__(self, table: str, columns: Sequence[str], *, conflict: str = "", key: str = "seq") -> None:
        """`conflict` is the statement's `ON CONFLICT` clause, `key` the column that the database numbers."""
        self._width = len(columns)
        self._head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
        self._row = f"({', '.join('?' * self._width)})"
        self._conflict, self._key = conflict, key
        self._statements: dict[int, str] = {}

    def insert(self, database: Database, values: list[Any]) -> int:
        """Insert the rows whose values are concatenated in `values`; returns the number of the last."""
        last, most = 0, MOST_ROWS * self._width
        for at in range(0, len(values), most):
            part = values[at : at + most]
            text = self._statement(len(part) // self._width)
            if is_sqlite(database):
                last = raw(database).execute(text, part).lastrowid or 0
            else:
                rows = execute(database, f"{text} RETURNING {self._key}", part).fetchall()
                last = rows[-1][0] if rows else 0
        return last

    def _statement(self, rows: int) -> str:
        if rows not in self._statements:
            self._statements[rows] = self._head + ", ".join([self._row] * rows) + self._conflict
        return self._statements[rows]
