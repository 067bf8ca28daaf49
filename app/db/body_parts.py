"""Bodies in parts: how they are stored while they arrive, read and deleted.

A body of at most `PART_SIZE` bytes is one row of `capture_body`, whose key is the request's `seq`. A longer one arrives
before its request has a `seq`, so it has a key of its own, `capture.body_key`: that of its first part, which has
`PART_SIZE` bytes. The key of any other part is the first one's plus where in the body it begins, so parts may be
shorter where memory was short. The keys are negative, so that those of short bodies are the last ones: SQLite appends
without splitting pages.
"""

from __future__ import annotations

from collections.abc import Sequence

from peewee import Database, fn

from app.core.errors import StorageUnavailableError
from app.core.model import PART_SIZE
from app.db.counts import LOOSE, Deleted, grow
from app.db.models import KEYS_PER_BODY, BodyModel, LooseBodyModel
from app.db.raw_sql import execute, is_sqlite, json_list

FIRST_PART = "coalesce(capture.body_key, capture.seq)"
"""The key of the first part of a request's body."""

_INSERT = "INSERT INTO capture_body (key, data) VALUES (?, ?)"
_BEGINNING = "FROM capture_body WHERE key >= ? AND key < ? ORDER BY key"


def keys_of(seq: int, body_key: int | None) -> tuple[int, int]:
    """The first and the last key that the body's parts may have."""
    return (seq, seq) if body_key is None else (body_key, body_key + KEYS_PER_BODY - 1)


def store_part(database: Database, body_key: int | None, offset: int, data: bytes) -> int:
    """Store the bytes from `offset` of a body that is arriving; returns its key. The first part (None) has none yet."""
    if body_key is not None:
        _require_arriving(database, body_key, "SELECT number FROM loose_body WHERE number = ? AND dropped = 0")
    else:
        (number,) = execute(database, "INSERT INTO loose_body (dropped) VALUES (0) RETURNING number").fetchone()
        body_key = -number * KEYS_PER_BODY
    execute(database, _INSERT, (body_key + offset, data))
    grow(database, {LOOSE: len(data)})
    return body_key


def complete(database: Database, body_key: int, seq: int, tail: bytes, size: int) -> int | None:
    """Store the `tail` of a body of `size` bytes, whose other parts are stored, and give it to request `seq`; returns
    `capture.body_key`."""
    if is_sqlite(database):
        _require_arriving(
            database, body_key, "DELETE FROM loose_body WHERE number = ? AND dropped = 0 RETURNING number"
        )
    if tail:
        execute(database, _INSERT, (body_key + size - len(tail), tail))
    if not is_sqlite(database):  # a node that may only capture cannot read what it has stored
        key: int | None = execute(database, "SELECT complete_body(?, ?, ?)", (body_key, seq, size)).fetchone()[0]
        if key == 0:
            raise _parts_gone()
        return key
    first = execute(database, "SELECT length(data) FROM capture_body WHERE key = ?", (body_key,)).fetchone()
    if size > PART_SIZE and first == (PART_SIZE,):
        return body_key
    # Memory was short: whoever reads the beginning expects it in the first part.
    place = body_key, body_key + PART_SIZE
    beginning = b"".join(data for (data,) in execute(database, f"SELECT data {_BEGINNING}", place))
    execute(database, "DELETE FROM capture_body WHERE key >= ? AND key < ?", place)
    if size <= PART_SIZE:
        execute(database, _INSERT, (seq, beginning))
        return None
    execute(database, _INSERT, (body_key, beginning[:PART_SIZE]))
    if len(beginning) > PART_SIZE:
        execute(database, _INSERT, (body_key + PART_SIZE, beginning[PART_SIZE:]))
    return body_key


def _require_arriving(database: Database, body_key: int, text: str) -> None:
    """The parts may be gone: other nodes drop them when they take this one for dead."""
    if execute(database, text, (-body_key // KEYS_PER_BODY,)).fetchone() is None:
        raise _parts_gone()


def _parts_gone() -> StorageUnavailableError:
    return StorageUnavailableError("The beginning of the body is no longer stored: other nodes took this one for dead.")


def read(database: Database, seq: int, body_key: int | None, begin: int, end: int) -> bytes:
    """The bytes of a body from `begin` to `end`; fewer where some are missing."""
    if body_key is None:
        row = execute(database, "SELECT data FROM capture_body WHERE key = ?", (seq,)).fetchone()
        return b"" if row is None else bytes(row[0][begin:end])
    # The part that has the first of these bytes begins less than `PART_SIZE` before.
    place = body_key + max(0, begin - PART_SIZE + 1), body_key + end
    found, reached = [], begin
    for key, data in execute(database, f"SELECT key, data {_BEGINNING}", place):
        at = key - body_key
        if at <= reached < at + len(data):
            found.append(data[reached - at : end - at])
            reached = at + len(data)
    return b"".join(found)


def first_parts(database: Database, seqs: Sequence[int]) -> dict[int, bytes]:
    """The first part of each of these requests' bodies, by `seq`; empty if it has none."""
    query = (
        f"SELECT seq, data FROM capture JOIN capture_body ON capture_body.key = {FIRST_PART} WHERE seq IN numbers(?)"
    )
    return dict.fromkeys(seqs, b"") | dict(execute(database, query, (json_list(seqs),)).fetchall())


def drop(database: Database, body_key: int) -> None:
    """Have the parts of a body deleted whose request will not be stored."""
    number = -body_key // KEYS_PER_BODY
    LooseBodyModel.update(dropped=True).where(LooseBodyModel.number == number).execute(database)


def drop_all(database: Database) -> None:
    """Have the parts of all bodies deleted that were arriving when Hookline ended."""
    LooseBodyModel.update(dropped=True).execute(database)


def delete_dropped(database: Database, limit: int) -> Deleted | None:
    """Delete at most `limit` parts of bodies that were dropped; None when none are left."""
    dropped = LooseBodyModel.select(LooseBodyModel.number).where(LooseBodyModel.dropped == True)  # noqa: E712
    number = dropped.scalar(database)
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
    grow(database, {LOOSE: -freed})
    return Deleted(loose=-freed)
