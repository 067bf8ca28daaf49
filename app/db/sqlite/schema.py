"""What only SQLite's tables have, and how a file gets them: they are strict, and triggers keep what no statement may
forget.

A new file is created from the models. An older one is upgraded by named steps, each applied in one transaction with its
record. A released step never changes, so it uses no constants of the program.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from peewee import SchemaManager, SqliteDatabase

from app.core.clock import now_us
from app.core.errors import DamagedDatabaseError, NewerDatabaseError
from app.core.rules import FREE_ENDPOINTS
from app.db.models import (
    KEYS_PER_BODY,
    MODELS,
    PLAN_LIMIT,
    AccountModel,
    ClockModel,
    MigrationModel,
    StorageUseModel,
    TrashModel,
)
from app.db.raw_sql import raw

_WITHOUT_ROWID = (TrashModel,)
_ENDPOINTS = "(SELECT count(*) FROM endpoint WHERE removed = 0)"
_TRIGGERS = (
    f"""CREATE TRIGGER account_plan_limit BEFORE UPDATE OF plan ON account
    WHEN NEW.plan = 'free' AND {_ENDPOINTS} > {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    f"""CREATE TRIGGER endpoint_plan_limit BEFORE INSERT ON endpoint
    WHEN (SELECT plan FROM account) = 'free' AND {_ENDPOINTS} >= {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    """CREATE TRIGGER endpoint_stays_removed BEFORE UPDATE OF removed ON endpoint
    WHEN OLD.removed = 1 AND NEW.removed = 0
    BEGIN SELECT RAISE(ABORT, 'a removed endpoint stays removed'); END""",
    """CREATE TRIGGER endpoint_use AFTER INSERT ON endpoint
    BEGIN INSERT INTO storage_use VALUES (NEW.id, 0); END""",
    """CREATE TRIGGER endpoint_use_ends AFTER DELETE ON endpoint
    BEGIN DELETE FROM storage_use WHERE owner = OLD.id; END""",
    """CREATE TRIGGER capture_short_body AFTER DELETE ON capture WHEN OLD.body_key IS NULL
    BEGIN DELETE FROM capture_body WHERE key = OLD.seq; END""",
    f"""CREATE TRIGGER capture_long_body AFTER DELETE ON capture WHEN OLD.body_key IS NOT NULL
    BEGIN INSERT INTO loose_body (number, dropped) VALUES (-OLD.body_key / {KEYS_PER_BODY}, 1); END""",
    """CREATE TRIGGER capture_use_ends AFTER DELETE ON capture
    BEGIN UPDATE storage_use SET bytes = bytes
        - (1000 + OLD.size + length(OLD.headers) + length(OLD.target) + coalesce(length(OLD.trailers), 0))
    WHERE owner = OLD.endpoint_id; END""",
    f"""CREATE TRIGGER loose_body_use AFTER INSERT ON loose_body WHEN NEW.dropped
    BEGIN UPDATE storage_use SET bytes = bytes
        + (SELECT coalesce(sum(length(data)), 0) FROM capture_body
            WHERE key BETWEEN -NEW.number * {KEYS_PER_BODY} AND (1 - NEW.number) * {KEYS_PER_BODY} - 1)
    WHERE owner = 0; END""",
    """CREATE TRIGGER delivery_use_ends AFTER DELETE ON delivery
    BEGIN UPDATE storage_use SET bytes = bytes - 400 WHERE owner = OLD.endpoint_id; END""",
    """CREATE TRIGGER attempt_use AFTER INSERT ON attempt
    BEGIN
        UPDATE storage_use SET bytes = bytes + 200 + length(NEW.headers) WHERE owner = NEW.endpoint_id;
        UPDATE storage_use SET bytes = bytes + NEW.response_size + length(NEW.response_headers)
        WHERE owner = -1;
    END""",
    """CREATE TRIGGER attempt_use_ends AFTER DELETE ON attempt
    BEGIN
        UPDATE storage_use SET bytes = bytes - 200 - length(OLD.headers) WHERE owner = OLD.endpoint_id;
        UPDATE storage_use SET bytes = bytes - OLD.response_size - length(OLD.response_headers)
        WHERE owner = -1;
    END""",
)


class _Tables(SchemaManager):
    def _create_table(self, safe: bool = True, **options: Any) -> Any:
        text = super()._create_table(safe, **options).literal(" STRICT")  # type: ignore[misc]
        return text.literal(", WITHOUT ROWID") if self.model in _WITHOUT_ROWID else text


def _create_schema(database: SqliteDatabase) -> None:
    """Create the tables of an empty file with their indexes and triggers, and the rows that always exist."""
    for model in MODELS:
        _Tables(model, database).create_all(safe=False)
    for statement in _TRIGGERS:
        raw(database).execute(statement)
    AccountModel.insert(id=1, plan="free", instance_id=secrets.token_hex(16)).execute(database)
    for owner in (0, -1):
        StorageUseModel.insert(owner=owner, bytes=0).execute(database)
    ClockModel.insert(id=1, seen_at=0, seen_seq=0, problem=None, clock_at=0, ran_us=0).execute(database)


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
            _create_schema(database)
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
    with database.connection_context():
        _create_schema(database)
        return _objects(raw(database))


def _objects(connection: sqlite3.Connection) -> _Objects:
    """The statement that created each object, by its kind and name."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {(kind, name): f"{table} {' '.join(sql.split())}" for kind, name, table, sql in rows}
