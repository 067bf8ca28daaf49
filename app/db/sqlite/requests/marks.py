"""Marks the user sets on requests: read or unread, by id or for a whole endpoint in steps; stars; notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from peewee import JOIN, SqliteDatabase

from app.core.errors import NotFoundError
from app.core.model import PageKey
from app.core.record import Record
from app.db.sqlite.raw_sql import raw
from app.db.sqlite.reads.queries import visible, visible_sql
from app.db.sqlite.schema.schema import CaptureModel, NoteModel, StarModel


class Marked(Record, frozen=True):
    """The requests whose mark changed, by endpoint."""

    ids: dict[int, list[str]]


class MarkStep(Record, frozen=True):
    """How many became read, and the place reached (None: all are done)."""

    changed: int
    reached: PageKey | None


START = PageKey(received_at=-1, id="")


def mark_ids(database: SqliteDatabase, ids: Sequence[str], read: bool) -> Marked:
    """Mark those requests that are stored and not marked so already."""
    update = CaptureModel.update(is_read=read).where(
        CaptureModel.id.in_(ids), CaptureModel.is_read != read, visible("capture")
    )
    return _by_endpoint(update.returning(CaptureModel.endpoint, CaptureModel.id).tuples().execute(database))


def star_ids(database: SqliteDatabase, ids: Sequence[str], starred: bool) -> Marked:
    """Star requests, or remove the star, where that changes anything."""
    query = (
        CaptureModel.select(CaptureModel.seq, CaptureModel.endpoint, CaptureModel.id)
        .join(StarModel, JOIN.LEFT_OUTER)
        .where(CaptureModel.id.in_(ids), StarModel.capture.is_null(starred), visible())
    )
    rows = list(query.tuples().execute(database))
    seqs = [seq for seq, _, _ in rows]
    if starred and rows:
        StarModel.insert_many([(seq,) for seq in seqs], [StarModel.capture]).execute(database)
    elif rows:
        StarModel.delete().where(StarModel.capture.in_(seqs)).execute(database)
    return _by_endpoint([(endpoint_id, capture_id) for _, endpoint_id, capture_id in rows])


def note_id(database: SqliteDatabase, capture_id: str, note: str | None) -> Marked:
    """Set the request's note, or remove it (None); NotFoundError when the request is not stored."""
    query = (
        CaptureModel.select(CaptureModel.seq, CaptureModel.endpoint, NoteModel.text)
        .join(NoteModel, JOIN.LEFT_OUTER)
        .where((CaptureModel.id == capture_id) & visible())
    )
    row = next(iter(query.tuples().execute(database)), None)
    if row is None:
        raise NotFoundError("This request is no longer stored.")
    seq, endpoint_id, before = row
    if note == before:
        return Marked(ids={})
    if note is None:
        NoteModel.delete().where(NoteModel.capture == seq).execute(database)
    else:
        NoteModel.insert(capture=seq, text=note).on_conflict_replace().execute(database)
    return Marked(ids={endpoint_id: [capture_id]})


def mark_next_read(
    database: SqliteDatabase,
    limit: int,
    *,
    endpoint_id: int,
    above: PageKey,
    upto_seq: int,
) -> MarkStep:
    """Mark the next `limit` requests above a place read, except those numbered above `upto_seq`."""
    connection = raw(database)
    above_it = "endpoint_id = ? AND (received_at, id) > (?, ?) AND seq <= ?"
    values = (endpoint_id, above.received_at, above.id, upto_seq)
    last_at, last_id = connection.execute(
        "SELECT max(received_at), max(id) FROM (SELECT received_at, id FROM capture"
        f" WHERE {above_it} ORDER BY received_at, id LIMIT ?)",
        (*values, limit),
    ).fetchone()
    if last_at is None:
        return MarkStep(changed=0, reached=None)
    changed = connection.execute(
        f"UPDATE capture SET is_read = 1 WHERE {above_it} AND is_read = 0 AND (received_at, id) <= (?, ?)"
        f" AND {visible_sql()}",
        (*values, last_at, last_id),
    ).rowcount
    return MarkStep(changed=changed, reached=PageKey(received_at=last_at, id=last_id))


def _by_endpoint(rows: Iterable[tuple[int, str]]) -> Marked:
    marked: dict[int, list[str]] = {}
    for endpoint_id, capture_id in rows:
        marked.setdefault(endpoint_id, []).append(capture_id)
    return Marked(ids=marked)
