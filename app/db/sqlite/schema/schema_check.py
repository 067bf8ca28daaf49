"""Compares the tables, indexes, triggers and views of a file with those of the models: a trigger that somebody added to
a backup could delete each new request."""

from __future__ import annotations

import sqlite3
from functools import cache

from peewee import SqliteDatabase

from app.db.sqlite.raw_sql import raw
from app.db.sqlite.schema.schema import create_schema

_Objects = dict[tuple[str, str], str]


def schema_problem(connection: sqlite3.Connection) -> str | None:
    """The first difference, such as `the trigger x is not Hookline's`; None if there is none. The file has all
    migrations."""
    expected, found = _expected(), _objects(connection)
    for kind, name in sorted(found.keys() - expected.keys()):
        return f"the {kind} {name} is not Hookline's"
    for kind, name in sorted(expected.keys() - found.keys()):
        return f"the {kind} {name} is missing"
    for (kind, name), statement in expected.items():
        if found[kind, name] != statement:
            return f"the {kind} {name} was changed"
    return None


@cache
def _expected() -> _Objects:
    database = SqliteDatabase(":memory:")
    database.connect()
    try:
        create_schema(database)
        return _objects(raw(database))
    finally:
        database.close()


def _objects(connection: sqlite3.Connection) -> _Objects:
    """The statement that created each object, by its kind and name."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {(kind, name): f"{table} {' '.join(sql.split())}" for kind, name, table, sql in rows}
