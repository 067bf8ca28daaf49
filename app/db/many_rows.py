"""Inserts any number of rows in one statement, underneath peewee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peewee import Database

from app.db.raw_sql import execute, is_sqlite, raw

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
