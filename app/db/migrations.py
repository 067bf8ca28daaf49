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


_TARGETS = """
CREATE TABLE target (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint_id INTEGER NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    url TEXT NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    settings TEXT NOT NULL CHECK (json_valid(settings)),
    paused TEXT CHECK (paused IN ('user', 'failures')),
    failures INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX target_endpoint ON target (endpoint_id, position);
INSERT INTO target (endpoint_id, position, url, active, settings)
    SELECT id, 1, forward_url, 1, json_object('timeout_ms', coalesce(json_extract(forward, '$.timeout_ms'), 10000))
    FROM endpoint WHERE forward_url IS NOT NULL ORDER BY id;
DROP TRIGGER delivery_use;
DROP TRIGGER delivery_use_ends;
DROP INDEX delivery_capture;
DROP INDEX delivery_queued;
ALTER TABLE delivery RENAME TO old_delivery;
CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    capture_seq INTEGER NOT NULL REFERENCES capture (seq) ON DELETE CASCADE,
    endpoint_id INTEGER NOT NULL,
    target_id INTEGER,
    replay_id TEXT,
    url TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'failed')),
    queued_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    round_attempts INTEGER NOT NULL DEFAULT 0,
    round_started_at INTEGER,
    sending_at INTEGER,
    started_at INTEGER,
    ms REAL,
    status INTEGER,
    error TEXT,
    responded INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO delivery (seq, id, capture_seq, endpoint_id, target_id, url, state, queued_at, attempts, round_attempts,
    round_started_at, started_at, ms, status, error)
    SELECT old.seq, old.id, capture_seq, old.endpoint_id, target.id, old.url,
    iif(state = 'queued' AND target.id IS NULL, 'failed', state), queued_at, started_at IS NOT NULL,
    started_at IS NOT NULL, started_at, started_at, ms, status,
    iif(state = 'queued' AND target.id IS NULL, 'Not sent: the target was removed.', error)
    FROM old_delivery AS old
    LEFT JOIN target ON target.endpoint_id = old.endpoint_id AND (target.url = old.url OR state = 'queued')
    ORDER BY old.seq;
UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'old_delivery')
    WHERE name = 'delivery';
UPDATE capture SET mirror = 'f' WHERE mirror = 'q'
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE capture_seq = capture.seq AND state = 'queued');
CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY,
    delivery_seq INTEGER NOT NULL REFERENCES delivery (seq) ON DELETE CASCADE,
    endpoint_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    trigger TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ms REAL NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    headers BLOB NOT NULL,
    size INTEGER NOT NULL,
    reused INTEGER NOT NULL,
    lookup_ms REAL,
    connect_ms REAL,
    tls_ms REAL,
    first_byte_ms REAL,
    http_version TEXT NOT NULL,
    status INTEGER,
    response_headers BLOB NOT NULL,
    response_size INTEGER NOT NULL,
    response_truncated INTEGER NOT NULL,
    failure TEXT,
    error TEXT,
    response_body BLOB NOT NULL
) STRICT;
INSERT INTO attempt (delivery_seq, endpoint_id, number, trigger, started_at, ms, method, url, headers, size, reused,
    http_version, status, response_headers, response_size, response_truncated, failure, error, response_body)
    SELECT old.seq, old.endpoint_id, 1, 'forward', started_at, coalesce(ms, 0), capture.method, url, x'90',
    capture.size, 0, '', status, coalesce(response_headers, x'90'), response_size, response_truncated,
    iif(state = 'failed', iif(status IS NULL, 'connection', 'status'), NULL), error, coalesce(response_body, x'')
    FROM old_delivery AS old JOIN capture ON capture.seq = capture_seq WHERE started_at IS NOT NULL;
UPDATE storage_use SET bytes = bytes
    + (SELECT coalesce(sum(201 + iif(response_headers IS NULL, 1, 0)), 0)
        FROM old_delivery WHERE endpoint_id = owner AND started_at IS NOT NULL);
DROP TABLE old_delivery;
CREATE INDEX delivery_capture ON delivery (capture_seq, seq);
CREATE INDEX delivery_queued ON delivery (target_id, seq, due_at) WHERE state = 'queued';
CREATE INDEX delivery_failed ON delivery (endpoint_id, seq) WHERE state = 'failed';
CREATE INDEX delivery_sending ON delivery (seq) WHERE sending_at IS NOT NULL;
CREATE UNIQUE INDEX attempt_delivery ON attempt (delivery_seq, number);
ALTER TABLE endpoint DROP COLUMN forward_url;
ALTER TABLE endpoint DROP COLUMN forward
"""
_TARGET_TRIGGERS = (
    """CREATE TRIGGER delivery_use_ends AFTER DELETE ON delivery
    BEGIN UPDATE storage_use SET bytes = bytes - 400 WHERE owner = OLD.endpoint_id; END""",
    """CREATE TRIGGER attempt_use AFTER INSERT ON attempt
    BEGIN UPDATE storage_use SET bytes = bytes
        + (200 + NEW.response_size + length(NEW.response_headers) + length(NEW.headers))
    WHERE owner = NEW.endpoint_id; END""",
    """CREATE TRIGGER attempt_use_ends AFTER DELETE ON attempt
    BEGIN UPDATE storage_use SET bytes = bytes
        - (200 + OLD.response_size + length(OLD.response_headers) + length(OLD.headers))
    WHERE owner = OLD.endpoint_id; END""",
)


def add_targets(database: SqliteDatabase) -> None:
    """An endpoint's forward URL becomes its first target, and the result of a delivery its first attempt.

    An empty list of headers is `x'90'`. The bytes of an attempt are counted as its trigger does.
    """
    for statement in (*_TARGETS.split(";\n"), *_TARGET_TRIGGERS):
        raw(database).execute(statement)


def add_replays(database: SqliteDatabase) -> None:
    """The replays that the user starts, and the index of their deliveries."""
    raw(database).execute(
        "CREATE TABLE replay (id TEXT NOT NULL PRIMARY KEY, created_at INTEGER NOT NULL,"
        " spec TEXT NOT NULL CHECK (json_valid(spec)), progress TEXT NOT NULL CHECK (json_valid(progress))) STRICT"
    )
    raw(database).execute("CREATE INDEX delivery_replay ON delivery (replay_id, seq) WHERE replay_id IS NOT NULL")


def add_tunnels(database: SqliteDatabase) -> None:
    """The public URLs that the tunnel had, and which of them the user copied."""
    raw(database).execute(
        "CREATE TABLE tunnel_url (id INTEGER NOT NULL PRIMARY KEY, url TEXT NOT NULL, program TEXT NOT NULL,"
        " since INTEGER NOT NULL, until INTEGER) STRICT"
    )
    raw(database).execute(
        "CREATE TABLE tunnel_copy (endpoint_id INTEGER NOT NULL, base TEXT NOT NULL, copied_at INTEGER NOT NULL,"
        " PRIMARY KEY (endpoint_id, base),"
        " FOREIGN KEY (endpoint_id) REFERENCES endpoint (id) ON DELETE CASCADE) STRICT"
    )


def add_late_captures(database: SqliteDatabase) -> None:
    """Captures stored after ones with higher numbers. Of those stored so far none is known: nobody followed them."""
    raw(database).execute(
        "CREATE TABLE capture_late (position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
        " capture_seq INTEGER NOT NULL UNIQUE REFERENCES capture (seq) ON DELETE CASCADE) STRICT"
    )


def separate_order(database: SqliteDatabase) -> None:
    """To keep the order was a target's `parallel` 1, and is null."""
    raw(database).execute(
        "UPDATE target SET settings = json_set(settings, '$.parallel', NULL)"
        " WHERE json_extract(settings, '$.parallel') = 1"
    )


MIGRATIONS: tuple[tuple[str, Migration], ...] = (
    ("0002_add_senders", add_senders),
    ("0003_index_outcomes", index_outcomes),
    ("0004_add_marks", add_marks),
    ("0005_add_trailers", add_trailers),
    ("0006_add_storage_limits", add_storage_limits),
    ("0007_remember_clock", remember_clock),
    ("0008_gist", add_gist),
    ("0009_endpoint_position", add_endpoint_position),
    ("0010_targets", add_targets),
    ("0011_replays", add_replays),
    ("0012_tunnels", add_tunnels),
    ("0013_late_captures", add_late_captures),
    ("0014_separate_order", separate_order),
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
