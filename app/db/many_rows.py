"""Inserts any number of rows in one statement, underneath peewee."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

MOST_ROWS = 64
"""In a statement: SQLite keeps each prepared, one for each number of rows."""


class ManyRows:
    """`INSERT … VALUES (…), (…)` for any number of rows: one statement for each `MOST_ROWS`."""

    def __init__(self, table: str, columns: Sequence[str], conflict: str = "") -> None:
        """`conflict` is the statement's `ON CONFLICT` clause."""
        self._width = len(columns)
        self._head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
        self._row = f"({', '.join('?' * self._width)})"
        self._conflict = conflict
        self._statements: dict[int, str] = {}

    def insert(self, connection: sqlite3.Connection, values: list[Any]) -> int:
        """Insert the rows whose values are concatenated in `values`; returns the row ID of the last."""
        last, most = 0, MOST_ROWS * self._width
        for at in range(0, len(values), most):
            part = values[at : at + most]
            last = connection.execute(self._statement(len(part) // self._width), part).lastrowid or 0
        return last

    def _statement(self, rows: int) -> str:
        if rows not in self._statements:
            self._statements[rows] = self._head + ", ".join([self._row] * rows) + self._conflict
        return self._statements[rows]
