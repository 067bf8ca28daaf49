"""Reads captures in the order in which they were stored, see `capture_order.py`."""

from __future__ import annotations

from collections.abc import Sequence

from peewee import SqliteDatabase

from app.core.model import Summary
from app.db.capture_order import STEP
from app.db.queries import visible, with_capture
from app.db.raw_sql import newest_number, raw
from app.db.records import SUMMARY
from app.db.schema import CaptureModel, LateCaptureModel


def newest_position(database: SqliteDatabase) -> int:
    """The highest position of a capture that was ever stored, 0 if none was."""
    return max(newest_number(database, "capture") * STEP, newest_number(database, "capture_late"))


def position_of(database: SqliteDatabase, capture_id: str) -> int | None:
    """The position of a stored capture."""
    tables = "capture LEFT JOIN capture_late ON capture_seq = seq"
    query = f"SELECT coalesce(position, seq * {STEP}) FROM {tables} WHERE id = ?"
    row = raw(database).execute(query, (capture_id,)).fetchone()
    return None if row is None else int(row[0])


def captures_between(database: SqliteDatabase, after: int, upto: int, limit: int) -> Sequence[tuple[int, Summary]]:
    """The first `limit` captures with positions above `after` and at most `upto`, each with its position."""
    late = LateCaptureModel.select(LateCaptureModel.capture)
    numbered = (
        with_capture(CaptureModel.select(*SUMMARY.columns, CaptureModel.seq * STEP))
        .where(
            CaptureModel.seq > after // STEP, CaptureModel.seq <= upto // STEP, CaptureModel.seq.not_in(late), visible()
        )
        .order_by(CaptureModel.seq)
        .limit(limit)
    )
    delayed = (
        with_capture(CaptureModel.select(*SUMMARY.columns, LateCaptureModel.position))
        .join_from(CaptureModel, LateCaptureModel)
        .where(LateCaptureModel.position > after, LateCaptureModel.position <= upto, visible())
        .order_by(LateCaptureModel.position)
        .limit(limit)
    )
    with database.atomic():
        rows = [row for query in (numbered, delayed) for row in query.tuples().execute(database)]
    found = sorted(((row[SUMMARY.width], SUMMARY.record(row)) for row in rows), key=lambda pair: pair[0])
    return found[:limit]
