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
from pathlib import Path

from peewee import SqliteDatabase

from app.core.clock import now_us
from app.core.errors import DamagedDatabaseError, NewerDatabaseError
from app.db.raw_sql import raw
from app.db.schema import MigrationModel, create_schema

Migration = Callable[[SqliteDatabase], None]


def add_senders(database: SqliteDatabase) -> None:
    """Who sent each request. NULL: not identified yet; the index contains only those, and so is empty most of the
    time."""
    for column in ("provider", "event", "delivery_id"):
        raw(database).execute(f"ALTER TABLE capture ADD COLUMN {column} TEXT")
    raw(database).execute("CREATE INDEX capture_unidentified ON capture (seq) WHERE provider IS NULL")


def index_outcomes(database: SqliteDatabase) -> None:
    """What the activity chart counts separately. A capture enters when its delivery has ended, so capturing costs
    nothing."""
    raw(database).execute(
        "CREATE INDEX capture_mirrored ON capture (endpoint_id, received_at, mirror, complete)"
        " WHERE mirror IN ('d', 'f') AND complete = 1"
    )
    raw(database).execute(
        "CREATE INDEX capture_incomplete ON capture (endpoint_id, received_at, complete) WHERE complete = 0"
    )


def add_marks(database: SqliteDatabase) -> None:
    """Stars and notes in tables of their own, because few captures have one: nothing is read or written for the others.
    A column with a CHECK, and an index on it, would need every existing row to be read, and slow down each insert."""
    for table, column in (
        ("capture_star", ""),
        ("capture_note", ", text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 2000)"),
    ):
        raw(database).execute(
            f"CREATE TABLE {table} ("
            f"capture_seq INTEGER PRIMARY KEY REFERENCES capture (seq) ON DELETE CASCADE{column}) STRICT"
        )


def add_trailers(database: SqliteDatabase) -> None:
    """The trailers of a chunked body, NULL for nearly all. No insert names the column, so it costs nothing."""
    raw(database).execute("ALTER TABLE capture ADD COLUMN trailers BLOB")


def add_gist(database: SqliteDatabase) -> None:
    """The description that lists show for a request whose event is unknown. NULL: stored by an older version and not
    described yet; the oldest row tells whether there are any, so no index is needed (`identification.py`)."""
    raw(database).execute("ALTER TABLE capture ADD COLUMN gist TEXT")


_PARTS = "key BETWEEN NEW.seq * 4096 AND NEW.seq * 4096 + 4095"
_STORAGE_USE = (
    """ALTER TABLE endpoint ADD COLUMN storage_limit INTEGER
        CHECK (storage_limit BETWEEN 1048576 AND 1125899906842624)""",
    """ALTER TABLE endpoint ADD COLUMN when_full TEXT NOT NULL DEFAULT 'delete_oldest'
        CHECK (when_full IN ('delete_oldest', 'stop_capturing'))""",
    "CREATE TABLE storage_use (owner INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT",
    """INSERT INTO storage_use SELECT id,
        (SELECT coalesce(sum(1000 + size + length(headers) + length(target)), 0) FROM capture
            WHERE endpoint_id = endpoint.id)
        + (SELECT coalesce(sum(400 + response_size + coalesce(length(response_headers), 0)), 0) FROM delivery
            WHERE endpoint_id = endpoint.id)
        FROM endpoint""",
    """INSERT INTO storage_use SELECT 0, coalesce(sum(length(data)), 0) FROM capture_body
        WHERE key / 4096 IN (SELECT seq FROM loose_body)""",
    """CREATE TRIGGER endpoint_use AFTER INSERT ON endpoint
    BEGIN INSERT INTO storage_use VALUES (NEW.id, 0); END""",
    """CREATE TRIGGER endpoint_use_ends AFTER DELETE ON endpoint
    BEGIN DELETE FROM storage_use WHERE owner = OLD.id; END""",
    """CREATE TRIGGER capture_use_ends AFTER DELETE ON capture
    BEGIN UPDATE storage_use SET bytes = bytes
        - (1000 + OLD.size + length(OLD.headers) + length(OLD.target) + coalesce(length(OLD.trailers), 0))
    WHERE owner = OLD.endpoint_id; END""",
    """CREATE TRIGGER delivery_use AFTER UPDATE OF response_headers, response_size ON delivery
    BEGIN UPDATE storage_use SET bytes = bytes
        + NEW.response_size + coalesce(length(NEW.response_headers), 0)
        - OLD.response_size - coalesce(length(OLD.response_headers), 0)
    WHERE owner = NEW.endpoint_id; END""",
    """CREATE TRIGGER delivery_use_ends AFTER DELETE ON delivery
    BEGIN UPDATE storage_use SET bytes = bytes - (400 + OLD.response_size + coalesce(length(OLD.response_headers), 0))
    WHERE owner = OLD.endpoint_id; END""",
    f"""CREATE TRIGGER loose_body_use AFTER INSERT ON loose_body WHEN NEW.dropped
    BEGIN UPDATE storage_use SET bytes = bytes
        + (SELECT coalesce(sum(length(data)), 0) FROM capture_body WHERE {_PARTS})
    WHERE owner = 0; END""",
)


def add_storage_limits(database: SqliteDatabase) -> None:
    """Limits of endpoints, and the bytes of each endpoint's requests (`counts.py`). Only deletions and deliveries are
    counted by triggers: a trigger on each insert made captures 6 to 9 % slower, a statement per commit does not."""
    for statement in _STORAGE_USE:
        raw(database).execute(statement)


_CLOCK = """
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seen_at INTEGER NOT NULL,
    seen_seq INTEGER NOT NULL,
    problem TEXT CHECK (problem IN ('ahead', 'behind', 'future')),
    clock_at INTEGER NOT NULL,
    ran_us INTEGER NOT NULL
) STRICT;
INSERT INTO clock
    SELECT 1, coalesce(max(newest), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'capture'), 0),
    NULL, 0, 0
    FROM (SELECT (SELECT max(received_at) FROM capture WHERE endpoint_id = endpoint.id) AS newest FROM endpoint);
CREATE TABLE misdated (
    id INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER,
    counted_from INTEGER
) STRICT
"""


def remember_clock(database: SqliteDatabase) -> None:
    """When the store last saw the time, and which requests were received while that time was in doubt.

    In an older file that is the time of the newest request. `problem` says why the clock is not trusted; `clock_at` is
    what it last showed since, `ran_us` for how long Hookline ran on it. In `misdated`, `last_seq` is NULL while the
    doubtful clock is in use, `counted_from` while it is not known which clock is right.
    """
    for statement in _CLOCK.split(";\n"):
        raw(database).execute(statement)


def add_endpoint_position(database: SqliteDatabase) -> None:
    """The position that the user gave each endpoint in the list. NULL, as for a new one, comes after all others."""
    raw(database).execute("ALTER TABLE endpoint ADD COLUMN position INTEGER")


MIGRATIONS: tuple[tuple[str, Migration], ...] = (
    ("0002_add_senders", add_senders),
    ("0003_index_outcomes", index_outcomes),
    ("0004_add_marks", add_marks),
    ("0005_add_trailers", add_trailers),
    ("0006_add_storage_limits", add_storage_limits),
    ("0007_remember_clock", remember_clock),
    ("0008_gist", add_gist),
    ("0009_endpoint_position", add_endpoint_position),
)
"""In order of application. A released name never changes its meaning."""

OLDEST = "0001_create_tables"
"""The schema of the oldest files, which the first migration starts from."""


def applied(connection: sqlite3.Connection, path: Path, known: Sequence[str]) -> list[str]:
    """The names of the migrations in the file, empty for a new one.

    NewerDatabaseError when there is one not `known`, DamagedDatabaseError when the tables are not Hookline's.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return []
    if "migration" not in tables:
        raise DamagedDatabaseError(
            f"{path} is an SQLite database, but not one of Hookline's. Move it away, or choose another data folder"
            " with --data-dir.",
            path.parent,
        )
    names = [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY name")]
    newer = [name for name in names if name not in (OLDEST, *known)]
    if newer:
        raise NewerDatabaseError(
            f"{path} was written by a newer Hookline (it holds {newer[0]}). Install that version or a later one;"
            " nothing was changed.",
            path.parent,
        )
    return names


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
