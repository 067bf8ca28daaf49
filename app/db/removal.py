"""Deleting requests in steps small enough that captures never wait long for one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from peewee import SqliteDatabase

from app.core.model import Record
from app.db.counts import Removed
from app.db.raw import raw
from app.db.schema import PARTS_PER_BODY


class Deleted(Record, frozen=True):
    """Requests deleted by id: what went from which endpoint, and their ids."""

    removed: dict[int, Removed]
    ids: dict[int, list[str]]


def delete_oldest(
    database: SqliteDatabase, limit: int, *, endpoint_id: int, before: int | None = None, upto_seq: int | None = None
) -> Removed:
    """Delete at most `limit` requests of an endpoint, oldest first: received `before`, numbered up to `upto_seq`."""
    connection = raw(database)
    chosen = (
        "FROM capture WHERE endpoint_id = :endpoint AND received_at < :before AND seq <= :upto"
        " ORDER BY received_at, id LIMIT :limit"
    )
    most = 2**63 - 1
    values = {
        "endpoint": endpoint_id,
        "before": most if before is None else before,
        "upto": most if upto_seq is None else upto_seq,
        "limit": limit,
    }
    total, unread = connection.execute(
        f"SELECT count(*), count(*) - coalesce(sum(is_read), 0) FROM (SELECT is_read {chosen})", values
    ).fetchone()
    if total:
        connection.execute(f"DELETE FROM capture WHERE seq IN (SELECT seq {chosen})", values)
    return Removed(total=total, unread=unread, last_received_at=newest(database, endpoint_id))


def delete_ids(database: SqliteDatabase, ids: Iterable[str]) -> Deleted:
    """Delete the requests of these ids, as far as they are there."""
    rows = (
        raw(database)
        .execute(
            "DELETE FROM capture WHERE id IN (SELECT value FROM json_each(?)) RETURNING endpoint_id, id, is_read",
            (msgspec.json.encode(list(ids)).decode(),),
        )
        .fetchall()
    )
    gone: dict[int, list[str]] = {}
    unread: dict[int, int] = {}
    for endpoint_id, capture_id, is_read in rows:
        gone.setdefault(endpoint_id, []).append(capture_id)
        unread[endpoint_id] = unread.get(endpoint_id, 0) + (not is_read)
    removed = {
        endpoint_id: Removed(
            total=len(names), unread=unread[endpoint_id], last_received_at=newest(database, endpoint_id)
        )
        for endpoint_id, names in gone.items()
    }
    return Deleted(removed=removed, ids=gone)


def newest(database: SqliteDatabase, endpoint_id: int) -> int | None:
    """When the endpoint's newest request was received."""
    row = raw(database).execute("SELECT max(received_at) FROM capture WHERE endpoint_id = ?", (endpoint_id,)).fetchone()
    found: int | None = row[0]
    return found


def delete_loose_parts(database: SqliteDatabase, limit: int) -> bool:
    """Delete at most `limit` parts of bodies that were dropped; False when there is none left."""
    connection = raw(database)
    row = connection.execute("SELECT seq FROM loose_body WHERE dropped LIMIT 1").fetchone()
    if row is None:
        return False
    first = row[0] * PARTS_PER_BODY
    deleted = connection.execute(
        "DELETE FROM capture_body WHERE key IN (SELECT key FROM capture_body WHERE key BETWEEN ? AND ? LIMIT ?)",
        (first, first + PARTS_PER_BODY - 1, limit),
    ).rowcount
    if deleted < limit:
        connection.execute("DELETE FROM loose_body WHERE seq = ?", (row[0],))
    return True


def delete_removed_endpoint(database: SqliteDatabase, limit: int) -> bool:
    """Delete at most `limit` requests of an endpoint that was removed, then itself; False when there is none left."""
    connection = raw(database)
    row = connection.execute("SELECT id FROM endpoint WHERE removed LIMIT 1").fetchone()
    if row is None:
        return False
    if not delete_oldest(database, limit, endpoint_id=row[0]).total:
        connection.execute("DELETE FROM endpoint WHERE id = ?", row)
    return True
