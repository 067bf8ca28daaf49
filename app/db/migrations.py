"""How the database file came to look as it does: named steps, each applied together with its record, all or nothing."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from peewee import SqliteDatabase

from app.core.clock import now_us
from app.core.errors import DamagedDatabaseError, NewerDatabaseError
from app.core.model import PART_SIZE
from app.core.rules import FREE_ENDPOINTS, RETENTION_MAX, RETENTION_MIN, STORAGE_LIMIT_MAX, STORAGE_LIMIT_MIN
from app.db.raw_sql import raw

Migration = Callable[[SqliteDatabase], None]

PLAN_LIMIT = "plan limit"
"""What the triggers say when the Free plan would hold too many endpoints."""

_TABLES = f"""
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    plan TEXT NOT NULL CHECK (plan IN ('free', 'pro')),
    instance_id TEXT NOT NULL CHECK (length(instance_id) >= 16)
) STRICT;
CREATE TABLE endpoint (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slug TEXT NOT NULL CHECK (length(slug) BETWEEN 3 AND 64),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    description TEXT NOT NULL CHECK (length(description) <= 2000),
    retention_days INTEGER NOT NULL CHECK (retention_days BETWEEN {RETENTION_MIN} AND {RETENTION_MAX}),
    forward_url TEXT,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    reply TEXT NOT NULL CHECK (json_valid(reply)),
    forward TEXT NOT NULL CHECK (json_valid(forward)),
    auth TEXT NOT NULL CHECK (json_valid(auth)),
    created_at INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX endpoint_slug ON endpoint (slug) WHERE removed = 0;
CREATE TABLE capture (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    endpoint_id INTEGER NOT NULL REFERENCES endpoint (id),
    received_at INTEGER NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    http_version TEXT NOT NULL,
    headers BLOB NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size >= 0),
    sha256 TEXT NOT NULL,
    source_address TEXT NOT NULL,
    source_port INTEGER NOT NULL,
    scheme TEXT NOT NULL,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    reply_status INTEGER NOT NULL,
    mirror TEXT NOT NULL CHECK (mirror IN ('n', 'q', 'd', 'f')),
    is_read INTEGER NOT NULL CHECK (is_read IN (0, 1))
) STRICT;
CREATE INDEX capture_list ON capture (endpoint_id, received_at, id, is_read);
CREATE TABLE capture_reply (
    capture_seq INTEGER PRIMARY KEY REFERENCES capture (seq) ON DELETE CASCADE,
    ms REAL NOT NULL
) STRICT;
CREATE TABLE capture_body (key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE loose_body (
    seq INTEGER PRIMARY KEY,
    dropped INTEGER NOT NULL CHECK (dropped IN (0, 1))
) STRICT;
CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    capture_seq INTEGER NOT NULL REFERENCES capture (seq) ON DELETE CASCADE,
    endpoint_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'failed')),
    queued_at INTEGER NOT NULL,
    started_at INTEGER,
    ms REAL,
    status INTEGER,
    response_headers BLOB,
    response_size INTEGER NOT NULL DEFAULT 0,
    response_truncated INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    response_body BLOB
) STRICT;
CREATE INDEX delivery_capture ON delivery (capture_seq, seq);
CREATE INDEX delivery_queued ON delivery (endpoint_id, seq) WHERE state = 'queued';
"""

_HELD = "(SELECT count(*) FROM endpoint WHERE removed = 0)"
_TRIGGERS = (
    f"""CREATE TRIGGER endpoint_plan_limit BEFORE INSERT ON endpoint
    WHEN (SELECT plan FROM account) = 'free' AND {_HELD} >= {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    """CREATE TRIGGER endpoint_stays_removed BEFORE UPDATE OF removed ON endpoint
    WHEN OLD.removed = 1 AND NEW.removed = 0
    BEGIN SELECT RAISE(ABORT, 'a removed endpoint stays removed'); END""",
    f"""CREATE TRIGGER account_plan_limit BEFORE UPDATE OF plan ON account
    WHEN NEW.plan = 'free' AND {_HELD} > {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    f"""CREATE TRIGGER capture_small_body AFTER DELETE ON capture WHEN OLD.size <= {PART_SIZE}
    BEGIN DELETE FROM capture_body WHERE key = OLD.seq * 4096; END""",
    f"""CREATE TRIGGER capture_big_body AFTER DELETE ON capture WHEN OLD.size > {PART_SIZE}
    BEGIN INSERT INTO loose_body (seq, dropped) VALUES (OLD.seq, 1); END""",
)


def create_tables(database: SqliteDatabase) -> None:
    """The first tables, their guards, and the one account."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            raw(database).execute(statement)
    for trigger in _TRIGGERS:
        raw(database).execute(trigger)
    raw(database).execute("INSERT INTO account VALUES (1, 'free', ?)", (secrets.token_hex(16),))


def add_senders(database: SqliteDatabase) -> None:
    """Who sent each request. NULL: not looked at yet; the index holds those alone, and so is empty most of the time."""
    for column in ("provider", "event", "delivery_id"):
        raw(database).execute(f"ALTER TABLE capture ADD COLUMN {column} TEXT")
    raw(database).execute("CREATE INDEX capture_unidentified ON capture (seq) WHERE provider IS NULL")


def index_outcomes(database: SqliteDatabase) -> None:
    """What the activity chart counts apart. A capture enters when its delivery has ended, so capturing pays nothing."""
    raw(database).execute(
        "CREATE INDEX capture_mirrored ON capture (endpoint_id, received_at, mirror, complete)"
        " WHERE mirror IN ('d', 'f') AND complete = 1"
    )
    raw(database).execute(
        "CREATE INDEX capture_incomplete ON capture (endpoint_id, received_at, complete) WHERE complete = 0"
    )


def add_marks(database: SqliteDatabase) -> None:
    """Stars and notes, beside the captures, because few ever have one: nothing is read or written for those that have
    none. A column with a CHECK, and an index on it, would read every row there is, and be looked at by each insert."""
    for table, column in (
        ("capture_star", ""),
        ("capture_note", ", text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 2000)"),
    ):
        raw(database).execute(
            f"CREATE TABLE {table} ("
            f"capture_seq INTEGER PRIMARY KEY REFERENCES capture (seq) ON DELETE CASCADE{column}) STRICT"
        )


def add_trailers(database: SqliteDatabase) -> None:
    """What came behind a chunked body, NULL for nearly all. No insert names the column, so it costs them nothing."""
    raw(database).execute("ALTER TABLE capture ADD COLUMN trailers BLOB")


def add_gist(database: SqliteDatabase) -> None:
    """What lists say of a request whose event nobody knows. NULL: stored by an older version and not described yet; the
    oldest row tells whether there are any, so that no index is needed (`gist_backlog.py`)."""
    raw(database).execute("ALTER TABLE capture ADD COLUMN gist TEXT")


_PARTS = "key BETWEEN NEW.seq * 4096 AND NEW.seq * 4096 + 4095"
_STORAGE_USE = (
    f"""ALTER TABLE endpoint ADD COLUMN storage_limit INTEGER
        CHECK (storage_limit BETWEEN {STORAGE_LIMIT_MIN} AND {STORAGE_LIMIT_MAX})""",
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
    """Limits of endpoints, and what each endpoint's requests take (`storage_use.py`). Only deletions and deliveries are
    counted by triggers: one on each insert made captures 6 to 9 % slower, a statement per commit does not."""
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

    The newest request of an older file tells when that was. `problem` says why the clock is not trusted; `clock_at` is
    what it last showed since, `ran_us` for how long Hookline ran on it. In `misdated`, `last_seq` is NULL while the
    clock in doubt is in use, `counted_from` while it is not known which clock is right.
    """
    for statement in _CLOCK.split(";\n"):
        raw(database).execute(statement)


def add_endpoint_position(database: SqliteDatabase) -> None:
    """Where the user put each endpoint in the list. NULL, as a new one has it, is behind all others."""
    raw(database).execute("ALTER TABLE endpoint ADD COLUMN position INTEGER")


MIGRATIONS: tuple[tuple[str, Migration], ...] = (
    ("0001_create_tables", create_tables),
    ("0002_add_senders", add_senders),
    ("0003_index_outcomes", index_outcomes),
    ("0004_add_marks", add_marks),
    ("0005_add_trailers", add_trailers),
    ("0006_add_storage_limits", add_storage_limits),
    ("0007_remember_clock", remember_clock),
    ("0008_gist", add_gist),
    ("0009_endpoint_position", add_endpoint_position),
)
"""In order of application. A name, once released, keeps its meaning for ever."""


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
    newer = [name for name in names if name not in known]
    if newer:
        raise NewerDatabaseError(
            f"{path} was written by a newer Hookline (it holds {newer[0]}). Install that version or a later one;"
            " nothing was changed.",
            path.parent,
        )
    return names


def migrate(database: SqliteDatabase, path: Path, migrations: Sequence[tuple[str, Migration]] = MIGRATIONS) -> None:
    """Bring the file up to date: a copy first when it holds data, then each step in its own transaction."""
    done = applied(raw(database), path, [name for name, _ in migrations])
    missing = [(number, name, step) for number, (name, step) in enumerate(migrations, 1) if name not in done]
    if done and missing:
        _copy(raw(database), path.with_name(f"{path.name}.before-{missing[0][0]}"))
    for _, name, step in missing:
        with database.atomic("IMMEDIATE"):
            raw(database).execute(
                "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT"
            )
            step(database)
            raw(database).execute("INSERT INTO migration VALUES (?, ?)", (name, now_us()))


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the whole database to `target`, which appears only once it is complete and on disk."""
    half = target.with_name(target.name + ".part")
    half.unlink(missing_ok=True)
    os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(half)) as copy:
            connection.backup(copy)
    except sqlite3.Error:
        for left in (half, half.with_name(half.name + "-journal")):
            left.unlink(missing_ok=True)  # it would leave no room for anything else
        raise
    with half.open("r+b") as file:
        os.fsync(file.fileno())
    half.replace(target)
