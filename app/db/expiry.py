"""Which requests are past their endpoint's days. What came while the clock was wrong has its days counted apart."""

from __future__ import annotations

import sqlite3

from peewee import SqliteDatabase

from app.core.clock import DAY_US
from app.core.rules import RETENTION_MAX
from app.db.counts import Removed
from app.db.delete_requests import delete_oldest, newest
from app.db.raw_sql import raw
from app.db.schema import MisdatedModel
from app.db.storage_use import LOOSE, Freed, use_of

_PLAIN = (
    "FROM capture WHERE endpoint_id = :endpoint AND received_at < :before AND NOT EXISTS"
    " (SELECT 1 FROM misdated WHERE seq BETWEEN first_seq AND last_seq)"
)
_MISDATED = (
    "FROM misdated CROSS JOIN capture ON seq BETWEEN first_seq AND last_seq"
    " WHERE counted_from < :before AND endpoint_id = :endpoint"
)


def delete_expired(database: SqliteDatabase, limit: int, *, endpoint_id: int, before: int) -> Removed:
    """Delete about `limit` requests at most of those an endpoint received before `before`, oldest first."""
    connection = raw(database)
    if not _any_misdated(connection):
        return delete_oldest(database, limit, endpoint_id=endpoint_id, before=before)
    values = {"endpoint": endpoint_id, "before": before, "limit": limit}
    used, loose = use_of(database, endpoint_id), use_of(database, LOOSE)
    deleted: list[tuple[int]] = []
    for selection in (f"{_PLAIN} ORDER BY received_at, id", _MISDATED):
        deleted += connection.execute(
            f"DELETE FROM capture WHERE seq IN (SELECT seq {selection} LIMIT :limit) RETURNING is_read", values
        ).fetchall()
    unread = sum(not is_read for (is_read,) in deleted)
    freed = Freed(bytes=used - use_of(database, endpoint_id), loose=use_of(database, LOOSE) - loose)
    return Removed(total=len(deleted), unread=unread, last_received_at=newest(database, endpoint_id), freed=freed)


def count_expired(database: SqliteDatabase, limits: list[tuple[int, int]]) -> int:
    """How many requests `delete_expired` would delete in all; `limits` are endpoint ids with their `before`."""
    connection, total = raw(database), 0
    for endpoint_id, before in limits:
        for selection in _selections(connection):
            values = {"endpoint": endpoint_id, "before": before}
            total += connection.execute(f"SELECT count(*) {selection}", values).fetchone()[0]
    return total


def expired_size(database: SqliteDatabase, endpoint_id: int, before: int) -> tuple[int, int]:
    """How many requests `delete_expired` would delete, and the bytes of their bodies, headers and targets."""
    connection = raw(database)
    rows = taken = 0
    for selection in _selections(connection):
        values = {"endpoint": endpoint_id, "before": before}
        number, size = connection.execute(
            f"SELECT count(*), coalesce(sum(size + length(headers) + length(target)), 0) {selection}", values
        ).fetchone()
        rows, taken = rows + number, taken + size
    return rows, taken


def forget_misdated(database: SqliteDatabase, now: int) -> None:
    """Drop what is known of misdated requests that are long deleted, whatever their endpoint's days."""
    limit = now - (RETENTION_MAX + 1) * DAY_US
    MisdatedModel.delete().where(MisdatedModel.counted_from < limit).execute(database)


def _any_misdated(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM misdated LIMIT 1").fetchone() is not None


def _selections(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What to count. Without misdated requests the plain question is answered by the list's index alone."""
    if not _any_misdated(connection):
        return ("FROM capture WHERE endpoint_id = :endpoint AND received_at < :before",)
    return _PLAIN, _MISDATED
