"""Copies requests in the order of storing, with all that belongs to them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from peewee import Database

from app.core.sizes import MIB
from app.db.body_parts import keys_of
from app.db.counts import DELIVERY_OVERHEAD, REQUEST_OVERHEAD, grow
from app.db.models import (
    AttemptModel,
    BodyModel,
    CaptureModel,
    DeliveryModel,
    NoteModel,
    ResponseTimeModel,
    StarModel,
    StoreModel,
)
from app.db.queries import visible_sql
from app.db.raw_sql import is_sqlite, json_list
from app.db.store_copy.place import StorePlace
from app.db.store_copy.rows import LARGE_AT_ONCE, Row, columns_of, insert, select

ROWS, BYTES = 1_000, 16 * MIB
"""The most requests in a step, and bytes of their bodies; a longer one is a step of its own."""

_OF_REQUESTS = "capture_seq IN numbers(?)"
BELONGING: Mapping[type[StoreModel], str] = {
    ResponseTimeModel: _OF_REQUESTS,
    StarModel: _OF_REQUESTS,
    NoteModel: _OF_REQUESTS,
    DeliveryModel: _OF_REQUESTS,
    AttemptModel: f"delivery_seq IN (SELECT seq FROM delivery WHERE {_OF_REQUESTS})",
}
"""The tables with rows of requests, and the condition on those of some; a table comes after those it refers to."""
_NEXT = f"seq > ? AND {visible_sql()} ORDER BY seq LIMIT ?"
_PLACE = {name: place for place, name in enumerate(columns_of(CaptureModel))}
_SEQ, _ENDPOINT, _SIZE, _BODY_KEY = (_PLACE[name] for name in ("seq", "endpoint_id", "size", "body_key"))
_COUNTED = tuple(_PLACE[name] for name in ("headers", "target", "trailers"))
_ENDPOINT_OF_DELIVERY = columns_of(DeliveryModel).index("endpoint_id")


def copy_next(source: Database, target: StorePlace, after: int) -> Sequence[int]:
    """Copy the next requests numbered above `after`; their numbers, none if there are no more. Within a transaction of
    both."""
    captures = list(select(source, CaptureModel, _NEXT, (after, ROWS), at_once=ROWS))
    captures = captures[: bisect_right(list(accumulate(row[_SIZE] for row in captures)), BYTES) or 1]
    seqs = [row[_SEQ] for row in captures]
    if not seqs:
        return seqs
    grown: Counter[int] = Counter()
    if is_sqlite(target.database):  # PostgreSQL has a trigger
        for row in captures:
            size = sum(len(row[place] or b"") for place in _COUNTED)
            grown[row[_ENDPOINT]] += REQUEST_OVERHEAD + row[_SIZE] + size
    target.make_place(seqs)
    insert(target.database, CaptureModel, captures)
    _copy_bodies(source, target.database, captures)
    for model, condition in BELONGING.items():
        at_once = LARGE_AT_ONCE if model is AttemptModel else ROWS
        rows = select(source, model, condition, (json_list(seqs),), at_once=at_once)
        insert(target.database, model, _counted(rows, grown) if model is DeliveryModel else rows)
    grow(target.database, grown)
    return seqs


def _copy_bodies(source: Database, target: Database, captures: Sequence[Row]) -> None:
    short = [row[_SEQ] for row in captures if row[_BODY_KEY] is None and row[_SIZE]]
    insert(target, BodyModel, select(source, BodyModel, "key IN numbers(?)", (json_list(short),), at_once=ROWS))
    for row in captures:
        if row[_BODY_KEY] is not None:
            keys = keys_of(row[_SEQ], row[_BODY_KEY])
            insert(target, BodyModel, select(source, BodyModel, "key BETWEEN ? AND ?", keys, at_once=LARGE_AT_ONCE))


def _counted(deliveries: Iterator[Row], grown: Counter[int]) -> Iterator[Row]:
    for row in deliveries:
        grown[row[_ENDPOINT_OF_DELIVERY]] += DELIVERY_OVERHEAD
        yield row
