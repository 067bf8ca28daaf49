"""Marking requests read or unread, by id or all of an endpoint's in steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from peewee import SqliteDatabase

from app.core.model import PageKey, Record
from app.db.raw import raw


class Marked(Record, frozen=True):
    """The requests whose mark changed, by endpoint."""

    ids: dict[int, list[str]]


class Step(Record, frozen=True):
    """How many became read, and the place reached (None: all are done)."""

    changed: int
    reached: PageKey | None


START = PageKey(received_at=-1, id="")


def mark_ids(database: SqliteDatabase, ids: Sequence[str], read: bool) -> Marked:
    """Mark these requests, as far as they are there and not so marked already."""
    rows = raw(database).execute(
        "UPDATE capture SET is_read = :read WHERE id IN (SELECT value FROM json_each(:ids)) AND is_read <> :read"
        " RETURNING endpoint_id, id",
        {"read": read, "ids": msgspec.json.encode(list(ids)).decode()},
    )
    marked: dict[int, list[str]] = {}
    for endpoint_id, capture_id in rows.fetchall():
        marked.setdefault(endpoint_id, []).append(capture_id)
    return Marked(ids=marked)


def mark_next_read(database: SqliteDatabase, limit: int, *, endpoint_id: int, above: PageKey, upto_seq: int) -> Step:
    """Mark the next `limit` requests above a place read, as far as they are numbered up to `upto_seq`."""
    values: dict[str, Any] = {
        "endpoint": endpoint_id,
        "at": above.received_at,
        "id": above.id,
        "upto": upto_seq,
        "limit": limit,
    }
    connection = raw(database)
    values["last_at"], values["last_id"] = connection.execute(
        "SELECT max(received_at), max(id) FROM (SELECT received_at, id FROM capture WHERE endpoint_id = :endpoint"
        " AND (received_at, id) > (:at, :id) AND seq <= :upto ORDER BY received_at, id LIMIT :limit)",
        values,
    ).fetchone()
    if values["last_at"] is None:
        return Step(changed=0, reached=None)
    changed = connection.execute(
        "UPDATE capture SET is_read = 1 WHERE endpoint_id = :endpoint AND is_read = 0 AND seq <= :upto"
        " AND (received_at, id) > (:at, :id) AND (received_at, id) <= (:last_at, :last_id)",
        values,
    ).rowcount
    return Step(changed=changed, reached=PageKey(received_at=values["last_at"], id=values["last_id"]))
