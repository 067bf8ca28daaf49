"""Transactions that begin by taking the write lock, and parts of them that are undone by themselves."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator


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
