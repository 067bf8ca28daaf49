"""Rows from one database to another, whichever engine each has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from peewee import AutoField, Database

from app.db.models import StoreModel
from app.db.raw_sql import execute_many, is_sqlite, raw, stream

Row = Sequence[Any]
AT_ONCE, LARGE_AT_ONCE = 500, 8
"""Rows that a server sends at a time; of those that may have a megabyte each."""


def table_of(model: type[StoreModel]) -> str:
    return str(model._meta.table_name)


def columns_of(model: type[StoreModel]) -> tuple[str, ...]:
    return tuple(model._meta.columns)


def number_of(model: type[StoreModel]) -> AutoField | None:
    """The field that the database numbers."""
    key = model._meta.primary_key
    return key if isinstance(key, AutoField) else None


def select(
    database: Database, model: type[StoreModel], condition: str, values: Row = (), *, at_once: int = AT_ONCE
) -> Iterator[Row]:
    """All columns of the rows that meet the condition, read as they are taken, so many `at_once`; within a
    transaction."""
    text = f"SELECT {', '.join(columns_of(model))} FROM {table_of(model)} WHERE {condition}"
    with closing(stream(database, text, values, at_once=at_once)) as rows:
        yield from rows


def insert(database: Database, model: type[StoreModel], rows: Iterable[Row]) -> None:
    """Insert rows with all columns of the model; within a transaction."""
    table, columns = table_of(model), columns_of(model)
    names = ", ".join(columns)
    if is_sqlite(database):
        execute_many(database, f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
    else:
        with raw(database).cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
