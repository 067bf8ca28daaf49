"""Upgrades older database files to the schema of the models: named steps, each applied in one transaction with its
record.

A new file is created from the models (`schema.py`). A released step never changes, so it uses no constants of the
program.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from peewee import SqliteDatabase

from app.core.clock import now_us
from app.core.errors import DamagedDatabaseError, NewerDatabaseError
from app.db.models import MODELS, MigrationModel
from app.db.raw_sql import raw
from app.db.sqlite.schema import create_schema

Migration = Callable[[SqliteDatabase], None]


MIGRATIONS: tuple[tuple[str, Migration], ...] = ()
"""Names and steps in order of application; none since the first release. A released name never changes its meaning."""

OLDEST = "0001_create_tables"
"""The schema of the first release, which the first migration starts from."""


def applied(connection: sqlite3.Connection, path: Path, known: Sequence[str]) -> list[str]:
    """The names of the migrations in the file, empty for a new one.

    NewerDatabaseError when there is one not `known`, DamagedDatabaseError when the tables are not Hookline's, or not
    this version's although all `known` were applied.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return []
    if "migration" not in tables:
        raise DamagedDatabaseError(f"{path} is an SQLite database, but not one of Hookline's.", path.parent)
    names = [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY name")]
    newer = [name for name in names if name not in (OLDEST, *known)]
    if newer:
        raise NewerDatabaseError(
            f"{path} was written by a newer Hookline (it holds {newer[0]}). Install that version or a later one;"
            " nothing was changed.",
            path.parent,
        )
    if not set(known) - set(names):
        _require_columns(connection, path)
    return names


def _require_columns(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a file of a development version, whose tables have the name of the first release's."""
    query = "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns"
    found = set(connection.execute(query))
    needed = [(model._meta.table_name, column) for model in MODELS for column in model._meta.columns]
    missing = next((f"{table}.{column}" for table, column in needed if (table, column) not in found), None)
    if missing is not None:
        raise DamagedDatabaseError(
            f"{path} was written by another version of Hookline: it has no column {missing}. It was not changed.",
            path.parent,
        )


def migrate(database: SqliteDatabase, path: Path, migrations: Sequence[tuple[str, Migration]] = MIGRATIONS) -> None:
    """Create a new file, or upgrade an older one: first a backup, then each step in its own transaction.

    Raises as `applied`.
    """
    done = applied(raw(database), path, [name for name, _ in migrations])
    copied = not done  # there is nothing to copy
    if not done:
        done = [OLDEST, *(name for name, _ in MIGRATIONS)]
        with database.atomic("IMMEDIATE"):
            create_schema(database)
            _record(database, *done)
    for number, (name, step) in enumerate(migrations, 2):
        if name in done:
            continue
        if not copied:
            _copy(raw(database), path.with_name(f"{path.name}.before-{number}"))
            copied = True
        with database.atomic("IMMEDIATE"):
            step(database)
            _record(database, name)


def _record(database: SqliteDatabase, *names: str) -> None:
    at = now_us()
    MigrationModel.insert_many([{"name": name, "applied_at": at} for name in names]).execute(database)


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the database to `target`, which appears only once it is complete and on disk."""
    half = target.with_name(target.name + ".part")
    half.unlink(missing_ok=True)
    os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(half)) as copy:
            connection.backup(copy)
    except sqlite3.Error:
        for left in (half, half.with_name(half.name + "-journal")):
            left.unlink(missing_ok=True)  # it would use up the remaining space
        raise
    with half.open("r+b") as file:
        os.fsync(file.fileno())
    half.replace(target)


_Objects = dict[tuple[str, str], str]


def schema_problem(connection: sqlite3.Connection) -> str | None:
    """How the tables, indexes, triggers and views of a file differ from the models', such as `the trigger x is not
    Hookline's`; None if they do not. The file has all migrations. A trigger that somebody added to a backup could
    delete each new request."""
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
