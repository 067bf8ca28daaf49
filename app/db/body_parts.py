"""Bodies in parts: how they are stored while they arrive, read and deleted.

A body of at most `PART_SIZE` bytes is one row of `capture_body`, whose key is the request's `seq`. A longer one arrives
before its request has a `seq`, so it has a key of its own, `capture.body_key`: that of its first part, which has
`PART_SIZE` bytes. The key of any other part is the first one's plus where in the body it begins, so parts may be
shorter where memory was short. The keys are negative, so that those of short bodies are the last ones: SQLite appends
without splitting pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from peewee import Database, fn

from app.core.model import PART_SIZE
from app.db.counts import LOOSE, Deleted, grow
from app.db.models import KEYS_PER_BODY, BodyModel, LooseBodyModel
from app.db.raw_sql import json_list, raw

FIRST_PART = "coalesce(capture.body_key, capture.seq)"
"""The key of the first part of a request's body."""

_INSERT = "INSERT INTO capture_body (key, data) VALUES (?, ?)"
_BEGINNING = "FROM capture_body WHERE key >= ? AND key < ? ORDER BY key"


def keys_of(seq: int, body_key: int | None) -> tuple[int, int]:
    """The first and the last key that the body's parts may have."""
    return (seq, seq) if body_key is None else (body_key, body_key + KEYS_PER_BODY - 1)


def store_part(database: Database, body_key: int | None, offset: int, data: bytes) -> int:
    """Store the bytes from `offset` of a body that is arriving; returns its key. The first part (None) has none yet."""
    connection = raw(database)
    if body_key is None:
        number = connection.execute("INSERT INTO loose_body (dropped) VALUES (0)").lastrowid
        assert number is not None
        body_key = -number * KEYS_PER_BODY
    connection.execute(_INSERT, (body_key + offset, data))
    grow(connection, {LOOSE: len(data)})
    return body_key


def complete(connection: sqlite3.Connection, body_key: int, seq: int, tail: bytes, size: int) -> int | None:
    """Store the `tail` of a body of `size` bytes, whose other parts are stored, and give it to request `seq`; returns
    `capture.body_key`."""
    connection.execute("DELETE FROM loose_body WHERE number = ?", (-body_key // KEYS_PER_BODY,))
    if tail:
        connection.execute(_INSERT, (body_key + size - len(tail), tail))
    first = connection.execute("SELECT length(data) FROM capture_body WHERE key = ?", (body_key,)).fetchone()
    if size > PART_SIZE and first == (PART_SIZE,):
        return body_key
    # Memory was short: whoever reads the beginning expects it in the first part.
    place = body_key, body_key + PART_SIZE
    beginning = b"".join(data for (data,) in connection.execute(f"SELECT data {_BEGINNING}", place))
    connection.execute("DELETE FROM capture_body WHERE key >= ? AND key < ?", place)
    if size <= PART_SIZE:
        connection.execute(_INSERT, (seq, beginning))
        return None
    connection.execute(_INSERT, (body_key, beginning[:PART_SIZE]))
    if len(beginning) > PART_SIZE:
        connection.execute(_INSERT, (body_key + PART_SIZE, beginning[PART_SIZE:]))
    return body_key


def read(connection: sqlite3.Connection, seq: int, body_key: int | None, begin: int, end: int) -> bytes:
    """The bytes of a body from `begin` to `end`; fewer where some are missing."""
    if body_key is None:
        row = connection.execute("SELECT data FROM capture_body WHERE key = ?", (seq,)).fetchone()
        return b"" if row is None else bytes(row[0][begin:end])
    # The part that has the first of these bytes begins less than `PART_SIZE` before.
    place = body_key + max(0, begin - PART_SIZE + 1), body_key + end
    found, reached = [], begin
    for key, data in connection.execute(f"SELECT key, data {_BEGINNING}", place):
        at = key - body_key
        if at <= reached < at + len(data):
            found.append(data[reached - at : end - at])
            reached = at + len(data)
    return b"".join(found)


def first_parts(database: Database, seqs: Sequence[int]) -> dict[int, bytes]:
    """The first part of each of these requests' bodies, by `seq`; empty if it has none."""
    query = (
        "SELECT seq, data FROM json_each(?) CROSS JOIN capture ON seq = value"
        f" CROSS JOIN capture_body ON capture_body.key = {FIRST_PART}"
    )
    return dict.fromkeys(seqs, b"") | dict(raw(database).execute(query, (json_list(seqs),)))


def drop(database: Database, body_key: int) -> None:
    """Have the parts of a body deleted whose request will not be stored."""
    number = -body_key // KEYS_PER_BODY
    LooseBodyModel.update(dropped=True).where(LooseBodyModel.number == number).execute(database)


def drop_all(database: Database) -> None:
    """Have the parts of all bodies deleted that were arriving when Hookline ended."""
    LooseBodyModel.update(dropped=True).execute(database)


def delete_dropped(database: Database, limit: int) -> Deleted | None:
    """Delete at most `limit` parts of bodies that were dropped; None when none are left."""
    dropped = LooseBodyModel.select(LooseBodyModel.number).where(LooseBodyModel.dropped).limit(1)
    number = next((number for (number,) in dropped.tuples().execute(database)), None)
    if number is None:
        return None
    first = -number * KEYS_PER_BODY
    query = BodyModel.select(BodyModel.key, fn.LENGTH(BodyModel.data)).order_by(BodyModel.key).limit(limit)
    query = query.where(BodyModel.key.between(first, first + KEYS_PER_BODY - 1))
    parts = list(query.tuples().execute(database))
    if parts:
        BodyModel.delete().where(BodyModel.key.between(first, parts[-1][0])).execute(database)
    if len(parts) < limit:
        LooseBodyModel.delete().where(LooseBodyModel.number == number).execute(database)
    freed = sum(size for _, size in parts)
    grow(raw(database), {LOOSE: -freed})
    return Deleted(loose=-freed)
