"""The bytes that each endpoint's requests take, kept in the file by the transactions that change them.

Counting a million requests anew at each start would read every row of theirs. What a request takes is said at
`core.model.StorageUse`; triggers (`schema.py`) subtract it when one is deleted.
"""

from __future__ import annotations

import sqlite3

from peewee import SqliteDatabase

from app.core.model import Capture, Record
from app.db.raw_sql import raw

LOOSE = 0
"""The owner of body parts that have no request: still arriving, or waiting to be deleted."""
REQUEST_OVERHEAD = 1_000
"""Measured with 20,000 requests of 540 bytes each: 370 in the database, 620 in the search index."""
DELIVERY_OVERHEAD = 400

SIZE = f"{REQUEST_OVERHEAD} + size + length(headers) + length(target) + coalesce(length(trailers), 0)"
"""What a row of `capture` takes, without its deliveries."""


class Freed(Record, frozen=True):
    """What a deletion changed: `bytes` less are an endpoint's, `loose` more are body parts without a request, which a
    later step deletes (then there are so many fewer)."""

    bytes: int
    loose: int = 0


def request_bytes(capture: Capture, headers: bytes, *, forwarded: bool) -> int:
    """What a request without trailers takes whose headers are stored as `headers`; `forwarded`: with a delivery that
    waits."""
    size = REQUEST_OVERHEAD + capture.size + len(headers) + len(capture.target)
    return size + DELIVERY_OVERHEAD if forwarded else size


def grow(connection: sqlite3.Connection, grown: dict[int, int]) -> None:
    """Add bytes to the use of these owners."""
    for owner, size in grown.items():
        connection.execute("UPDATE storage_use SET bytes = bytes + ? WHERE owner = ?", (size, owner))


def use_of(database: SqliteDatabase, owner: int) -> int:
    """Bytes of an owner; 0 for an unknown one."""
    row = raw(database).execute("SELECT bytes FROM storage_use WHERE owner = ?", (owner,)).fetchone()
    return row[0] if row is not None else 0


def all_uses(database: SqliteDatabase) -> dict[int, int]:
    """Bytes by owner."""
    return dict(raw(database).execute("SELECT owner, bytes FROM storage_use").fetchall())
