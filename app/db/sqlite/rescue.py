"""Saves what can still be read of a database that another program has deleted or overwritten: what Hookline has open is
the deleted file itself; of an overwritten one, the newest requests are in the log and in the cache."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

from peewee import SqliteDatabase

from app.core.backup import WorkCancelledError
from app.core.model import DeliveryState, Endpoint, Plan
from app.data_folder.database_files import START_MIN_FREE, remove_database, sync_folder
from app.db.body_parts import keys_of
from app.db.counts import RECOUNT
from app.db.deliveries.delivery_results import SHOW_WORST
from app.db.models import DELIVERY_CODE, KEYS_PER_BODY, AccountModel, EndpointModel, TargetModel
from app.db.raw_sql import json_list, of_sqlite, raw, savepoint
from app.db.records import from_draft, from_target_draft
from app.db.sqlite.backups import copy_snapshot
from app.db.sqlite.connection import open_writer
from app.db.sqlite.damage import find_damage

GIVE_UP = 1_000
"""After so many requests in a row that cannot be read, older ones are not tried."""
REQUESTS_MAX = 100_000

_BELONGING = {
    "capture_response": "capture_seq = :seq",
    "capture_star": "capture_seq = :seq",
    "capture_note": "capture_seq = :seq",
    "delivery": "capture_seq = :seq AND endpoint_id = :endpoint",
    "replay": "id IN (SELECT replay_id FROM delivery WHERE capture_seq = :seq)",
    "attempt": "delivery_seq IN (SELECT seq FROM delivery WHERE capture_seq = :seq) AND endpoint_id = :endpoint",
}
"""The other tables with rows of a request, and the condition on those; a table comes after those it refers to."""
_BODY_NUMBERS = f"""INSERT INTO sqlite_sequence (name, seq)
    SELECT 'loose_body', coalesce(max(-body_key / {KEYS_PER_BODY}), 0) FROM capture"""
"""So that no long body that arrives later gets the keys of one that was saved."""
_SELECT_BODY = "SELECT key, data FROM capture_body WHERE key BETWEEN ? AND ? ORDER BY key"


class Known(NamedTuple):
    """What is in memory, however the file is. `newest` is the number of the newest request."""

    endpoints: Sequence[Endpoint]
    plan: Plan
    newest: int


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
            raise WorkCancelledError

    connection = raw(database)
    remove_database(half)
    try:
        with database.atomic():
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            if disk_usage(half.parent).free - START_MIN_FREE < pages * size:
                return False
            copy_snapshot(connection, half, stop)
    except (sqlite3.DatabaseError, WorkCancelledError):
        return False
    try:
        return find_damage(half, stop, thorough=True) is None
    except WorkCancelledError:  # a restore checks it too
        return True
    except sqlite3.DatabaseError:
        return False


class RequestSaver:
    """Saves the endpoints that are known, and with each step more of the requests that can be read with intact bodies,
    the newest first. Used on the writer's thread: its cache has pages that are nowhere else."""

    def __init__(self, half: Path, known: Known, is_over: Callable[[], bool]) -> None:
        self._half, self._known, self._is_over = half, known, is_over
        self._database: SqliteDatabase | None = None
        self._columns: dict[str, list[str]] = {}
        self._unforwarded = 0
        self._next, self._failed = known.newest, 0
        self._lowest = max(0, known.newest - REQUESTS_MAX)
        self.remarks = ""
        """Sentences about what was not saved, each after a blank."""

    def step(self, connection: sqlite3.Connection, requests: int) -> bool:
        """Try this many requests; False when there are no more, or `is_over`."""
        if self._database is None:
            remove_database(self._half)
            self._database = open_writer(self._half)
            self._columns = {
                table: [name for _, name, *_ in raw(self._database).execute(f"PRAGMA table_info({table})")]
                for table in ("capture", *_BELONGING)
            }
            self._save_endpoints(self._database)
        with self._database.atomic():
            for _ in range(requests):
                if self._is_over():
                    self.remarks += " Hookline was stopped before it had looked for more."
                elif self._next > self._lowest and self._failed < GIVE_UP:
                    saved = self._copy_request(connection, raw(self._database), self._next)
                    self._failed = 0 if saved else self._failed + 1
                    self._next -= 1
                    continue
                self._end(raw(self._database))
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
                    settings["paused"] = target.paused and target.paused.value
                    TargetModel.insert(id=target.id, **settings).execute(database)

    def _copy_request(self, connection: sqlite3.Connection, saved: sqlite3.Connection, seq: int) -> bool:
        names = ", ".join(self._columns["capture"])
        found = f"SELECT seq, body_key, sha256, endpoint_id, delivery, {names} FROM capture WHERE seq = ?"
        try:
            found_seq, body_key, digest, endpoint_id, delivery, *values = connection.execute(found, (seq,)).fetchone()
            keys = keys_of(seq, body_key)
            parts = connection.execute(_SELECT_BODY, keys).fetchall()
            if sha256(b"".join(data for _, data in parts)).hexdigest() != digest:
                return False
            begins = accumulate((len(data) for _, data in parts), initial=keys[0])
            if found_seq != seq or any(key != at for (key, _), at in zip(parts, begins, strict=False)):
                return False  # of another database's pages
            with savepoint(saved):
                saved.execute(f"INSERT INTO capture ({names}) VALUES ({', '.join('?' * len(values))})", values)
                saved.executemany("INSERT INTO capture_body (key, data) VALUES (?, ?)", parts)
        except (sqlite3.Error, TypeError):  # whatever a damaged page may hold
            return False
        for table in _BELONGING:
            with contextlib.suppress(sqlite3.Error):
                self._copy_rows(connection, saved, table, {"seq": seq, "endpoint": endpoint_id})
        if delivery != DELIVERY_CODE[DeliveryState.NONE]:
            if saved.execute("SELECT 1 FROM delivery WHERE capture_seq = ?", (seq,)).fetchone():
                saved.execute(of_sqlite(SHOW_WORST), (json_list([seq]),))
            else:
                self._unforwarded += delivery == DELIVERY_CODE[DeliveryState.QUEUED]
                saved.execute("UPDATE capture SET delivery = ? WHERE seq = ?", (DELIVERY_CODE[DeliveryState.NONE], seq))
        return True

    def _copy_rows(
        self, connection: sqlite3.Connection, saved: sqlite3.Connection, table: str, values: dict[str, int]
    ) -> None:
        names = self._columns[table]
        rows = connection.execute(
            f"SELECT {', '.join(names)} FROM {table} WHERE {_BELONGING[table]}", values
        ).fetchall()
        with savepoint(saved):
            saved.executemany(
                f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", rows
            )

    def _end(self, saved: sqlite3.Connection) -> None:
        saved.execute(RECOUNT)
        saved.execute(_BODY_NUMBERS)
        if self._unforwarded:
            these = "1 of them was" if self._unforwarded == 1 else f"{self._unforwarded:,} of them were"
            self.remarks += f" {these} to be forwarded, which could not be read: after a restore that is not done."
