"""Saves what can still be read of a database that another program has deleted or overwritten: what Hookline has open is
the deleted file itself; of an overwritten one, the newest requests are in the log and in the cache."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

from peewee import SqliteDatabase

from app.core.model import Endpoint, Plan
from app.db.connection import START_MIN_FREE, open_writer
from app.db.copy import copy_snapshot, find_damage, remove_database, sync_folder
from app.db.counts import SIZE
from app.db.raw_sql import raw, savepoint
from app.db.records import from_draft, from_target_draft
from app.db.schema import PARTS_PER_BODY, AccountModel, EndpointModel, TargetModel

RESCUED_NAME = ".rescued-"
"""What follows the database's name, with the time after it."""
GIVE_UP = 1_000
"""After so many requests in a row that cannot be read, older ones are not tried."""
REQUESTS_MAX = 100_000

_SELECT_BODY = "SELECT key, data FROM capture_body WHERE key BETWEEN ? AND ? ORDER BY key"


class _StoppedError(Exception):
    """`is_over`."""


class Known(NamedTuple):
    """What is in memory, however the file is. `newest` is the number of the newest request."""

    endpoints: Sequence[Endpoint]
    plan: Plan
    newest: int


def unused_name(path: Path) -> Path:
    """The name for what is saved of the database at `path`, which has it once all of it is saved."""
    return path.with_name(f"{path.name}{RESCUED_NAME}{datetime.now().astimezone():%Y%m%d-%H%M%S}")


def give_name(half: Path, kept: Path) -> int:
    """Let what was saved be found; the number of requests in it."""
    with contextlib.closing(sqlite3.connect(half)) as saved:
        (count,) = saved.execute("SELECT count(*) FROM capture").fetchone()
    half.replace(kept)
    sync_folder(kept.parent)
    return int(count)


def copy_whole(database: SqliteDatabase, half: Path, is_over: Callable[[], bool]) -> bool:
    """Copy all of the database that `database` has open; whether that was possible before `is_over`, and the copy is
    sound."""

    def stop(*_: object) -> None:
        if is_over():
            raise _StoppedError

    connection = raw(database)
    remove_database(half)
    try:
        with database.atomic():
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            if disk_usage(half.parent).free - START_MIN_FREE < pages * size:
                return False
            copy_snapshot(connection, half, stop)
    except (sqlite3.DatabaseError, _StoppedError):
        return False
    try:
        return find_damage(half, stop, thorough=True) is None
    except _StoppedError:  # a restore checks it too
        return True
    except sqlite3.DatabaseError:
        return False


class RequestSaver:
    """Saves the endpoints that are known, and with each step more of the requests that can be read with intact bodies,
    the newest first. Used on the writer's thread: its cache has pages that are nowhere else."""

    def __init__(self, half: Path, known: Known, is_over: Callable[[], bool]) -> None:
        self._half, self._known, self._is_over = half, known, is_over
        self._database: SqliteDatabase | None = None
        self._columns: list[str] = []
        self._next, self._failed = known.newest, 0
        self._lowest = max(0, known.newest - REQUESTS_MAX)
        self.remarks = ""
        """Sentences about what was not saved, each after a blank."""

    def step(self, connection: sqlite3.Connection, requests: int) -> bool:
        """Try this many requests; False when there are no more, or `is_over`."""
        if self._database is None:
            remove_database(self._half)
            self._database = open_writer(self._half)
            self._columns = [name for _, name, *_ in raw(self._database).execute("PRAGMA table_info(capture)")]
            self._save_endpoints(self._database)
        with self._database.atomic():
            for _ in range(requests):
                if self._is_over():
                    self.remarks += " Hookline was stopped before it had looked for more."
                elif self._next > self._lowest and self._failed < GIVE_UP:
                    saved = _copy_request(connection, raw(self._database), self._columns, self._next)
                    self._failed = 0 if saved else self._failed + 1
                    self._next -= 1
                    continue
                self._end(self._database)
                return False
        return True

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _save_endpoints(self, database: SqliteDatabase) -> None:
        with database.atomic():
            AccountModel.update(plan=self._known.plan.value).execute(database)
            for place, one in enumerate(self._known.endpoints):
                columns = {**from_draft(one.draft()), "slug": one.slug, "created_at": one.created_at, "position": place}
                EndpointModel.insert(id=one.id, **columns).execute(database)
                for number, target in enumerate(one.targets):
                    settings = {**from_target_draft(target.draft()), "endpoint": one.id, "position": number}
                    TargetModel.insert(id=target.id, **settings).execute(database)

    @staticmethod
    def _end(database: SqliteDatabase) -> None:
        stored = f"SELECT coalesce(sum({SIZE}), 0) FROM capture WHERE endpoint_id = owner"
        raw(database).execute(f"UPDATE storage_use SET bytes = ({stored})")


def _copy_request(connection: sqlite3.Connection, saved: sqlite3.Connection, columns: Sequence[str], seq: int) -> bool:
    names, first = ", ".join(columns), seq * PARTS_PER_BODY
    try:
        digest, *values = connection.execute(f"SELECT sha256, {names} FROM capture WHERE seq = ?", (seq,)).fetchone()
        parts = connection.execute(_SELECT_BODY, (first, first + PARTS_PER_BODY - 1)).fetchall()
        if sha256(b"".join(data for _, data in parts)).hexdigest() != digest:
            return False
        with savepoint(saved):
            saved.execute(f"INSERT INTO capture ({names}) VALUES ({', '.join('?' * len(columns))})", values)
            saved.executemany("INSERT INTO capture_body (key, data) VALUES (?, ?)", parts)
    except (sqlite3.Error, TypeError):  # whatever a damaged page may hold
        return False
    return True
