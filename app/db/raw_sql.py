"""The connection underneath peewee, and its transactions, for statements that have no model or no time for one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, cast

from peewee import SqliteDatabase


def raw(database: SqliteDatabase) -> sqlite3.Connection:
    """The calling thread's own connection, which must be open."""
    return cast(sqlite3.Connection, cast(Any, database).connection())


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, patient: Callable[[], bool]) -> Iterator[None]:
    """All of it or nothing; holds the write lock from the start.

    While another program holds that lock, `patient` is asked after each busy timeout whether to go on waiting.
    """
    try:
        _begin(connection, patient)
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have undone it already; and when undoing fails, the next BEGIN will tell.
        with contextlib.suppress(sqlite3.Error):
            connection.rollback()
        raise


def _begin(connection: sqlite3.Connection, patient: Callable[[], bool]) -> None:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not patient():
                raise
        else:
            return


@contextlib.contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """A part of a transaction that is undone alone when it fails."""
    connection.execute("SAVEPOINT alone")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has undone all of it already
            connection.execute("ROLLBACK TO alone")
            connection.execute("RELEASE alone")
        raise
    connection.execute("RELEASE alone")
