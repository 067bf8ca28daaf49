"""Inserts captures by binary COPY. The rows are made by hand: psycopg's own adaptation of each value would cost more
than all the rest of a capture."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from peewee import Database

from app.core.clock import now_us
from app.core.ids import uuid7
from app.db.body_parts import complete
from app.db.counts import DELIVERY_OVERHEAD, LOOSE, grow
from app.db.models import DELIVERY_CODE, NOBODY, encode_headers
from app.db.postgres.database import clean
from app.db.raw_sql import raw
from app.db.writer_thread import Add

_HEAD, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_CAPTURE = (
    *("seq", "endpoint_id", "received_at", "size", "source_port", "response_status", "complete", "is_read", "id"),
    *("method", "target", "http_version", "content_type", "sha256", "source_address", "scheme", "delivery", "gist"),
    *("provider", "event", "delivery_id", "headers", "trailers", "body_key"),
)
_FIXED = struct.Struct(">h" + "iq" * 6 + "ih" * 2)
"""The number of fields, and the columns of fixed size, each behind its length."""
_LENGTH, _NUMBER = struct.Struct(">i"), struct.Struct(">iq")
_NULL = b"\xff\xff\xff\xff"
_BODY = struct.Struct(">hiqi")
_COPY_CAPTURES = f"COPY capture ({', '.join(_CAPTURE)}) FROM STDIN (FORMAT BINARY)"
_COPY_BODIES = "COPY capture_body (key, data) FROM STDIN (FORMAT BINARY)"
_QUEUE_DELIVERIES = "SELECT queue_deliveries(%s, %s::bigint[], %s::bigint[], %s, %s)"


def insert(database: Database, adds: Sequence[Add], first: int) -> None:
    """Insert captures, numbered from `first` on, with their bodies, or the last parts of long ones, and the deliveries
    they queue. Within the transaction of one who has the write lock."""
    connection = raw(database)
    captures, bodies, queued = [_HEAD], [_HEAD], list[tuple[int, int, str]]()
    grown: dict[int, int] = {}
    for seq, (_, capture, tail, body_key, targets, _, headers, _, _) in enumerate(adds, first):
        key = None
        if body_key is not None:
            key = complete(database, body_key, seq, tail, capture.size)
            grown[LOOSE] = grown.get(LOOSE, 0) - (capture.size - len(tail))
        elif tail:
            bodies += (_BODY.pack(2, 8, seq, len(tail)), tail)
        captures += _row(seq, capture, headers, key)
        for target in targets:
            grown[capture.endpoint_id] = grown.get(capture.endpoint_id, 0) + DELIVERY_OVERHEAD
            queued.append((seq, target.id, target.url))
    _copy(connection, _COPY_CAPTURES, captures)
    if len(bodies) > 1:
        _copy(connection, _COPY_BODIES, bodies)
    if queued:
        at = now_us()
        ids, columns = [uuid7(at) for _ in queued], map(list, zip(*queued, strict=True))
        connection.execute(_QUEUE_DELIVERIES, (ids, *columns, at))
    grow(database, grown)


def _copy(connection: Any, statement: str, parts: list[bytes]) -> None:
    parts.append(_END)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"".join(parts))


def _row(seq: int, capture: Any, headers: bytes, body_key: int | None) -> Iterable[bytes]:
    provider = (capture.provider or NOBODY) if capture.identified else None
    numbers = (seq, capture.endpoint_id, capture.received_at, capture.size)
    yield _FIXED.pack(
        len(_CAPTURE),
        *(value for number in (*numbers, capture.source_port, capture.response_status) for value in (8, number)),
        *(2, capture.complete, 2, capture.read),
    )
    for text in (
        *(capture.id, capture.method, capture.target, capture.http_version, capture.content_type, capture.sha256),
        *(capture.source_address, capture.scheme, DELIVERY_CODE[capture.delivery], capture.gist, provider),
        *(capture.event, capture.delivery_id),
    ):
        if text is None:
            yield _NULL
        else:
            data = clean(text)
            yield _LENGTH.pack(len(data))
            yield data
    yield _LENGTH.pack(len(headers))
    yield headers
    if capture.trailers:
        data = encode_headers(capture.trailers)
        yield _LENGTH.pack(len(data))
        yield data
    else:
        yield _NULL
    yield _NULL if body_key is None else _NUMBER.pack(8, body_key)
