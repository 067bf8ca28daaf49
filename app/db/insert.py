"""Inserts captures, underneath peewee: as a few many-row statements.

sqlite3 releases the interpreter's lock at each statement, and taking it again from a busy loop may cost more than the
insert: the fewer statements, the more captures a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from app.core.clock import now_us
from app.core.events import Captured, Event
from app.core.ids import uuid7
from app.core.model import DeliveryState
from app.core.record import Headers
from app.db.body_parts import complete
from app.db.counts import LOOSE, RequestCounts, grow
from app.db.schema import DELIVERY_CODE, NOBODY
from app.db.storage_limits import StorageLimits
from app.db.writer_jobs import Add

_SIZES = (64, 32, 16, 8, 4, 2, 1)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Headers)
encode_headers = _encoder.encode
decode_headers = _decoder.decode


class ManyRows:
    """`INSERT … VALUES (…), (…)` for any number of rows, in as few statements as the prepared sizes allow."""

    def __init__(self, table: str, columns: Sequence[str], conflict: str = "") -> None:
        """`conflict` is the statement's `ON CONFLICT` clause, which ignores repeated rows."""
        self._repeats = bool(conflict)
        self._width = len(columns)
        head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
        row = f"({', '.join('?' * self._width)})"
        self._statements = [(size, head + ", ".join([row] * size) + conflict) for size in _SIZES]

    def insert(self, connection: sqlite3.Connection, values: list[Any]) -> None:
        """Insert the rows whose values are concatenated in `values`."""
        left = len(values) // self._width
        if self._repeats and 0 < left <= _SIZES[0]:
            # One statement that repeats the last row costs less than several.
            size, statement = next(one for one in reversed(self._statements) if one[0] >= left)
            connection.execute(statement, values + values[-self._width :] * (size - left))
            return
        rest = iter(values)
        for size, statement in self._statements:
            while left >= size:
                connection.execute(statement, list(islice(rest, size * self._width)))
                left -= size


_PLAIN = (
    *("id", "endpoint_id", "received_at", "method", "target", "http_version", "content_type", "size", "sha256"),
    *("source_address", "source_port", "scheme", "complete", "response_status", "event", "delivery_id", "gist"),
)
"""Columns that hold a field of the capture unchanged; `_plain` reads them all at once."""
_plain = attrgetter(*_PLAIN)
CAPTURES = ManyRows("capture", ("seq", *_PLAIN, "headers", "delivery", "is_read", "provider"))
BODIES = ManyRows("capture_body", ("key", "data"))
DELIVERIES = ManyRows("delivery", ("id", "capture_seq", "endpoint_id", "target_id", "url", "state", "queued_at"))


_NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = 'capture'"
"""The highest number that a capture ever had. None is used twice: callers know them as their positions."""


def insert(connection: sqlite3.Connection, adds: list[Add]) -> int:
    """Insert captures with their bodies, or the last parts of long ones, and the deliveries they queue. Returns the
    number of the first; those of the others follow."""
    newest = connection.execute(_NEWEST).fetchone()
    first = 1 if newest is None else int(newest[0]) + 1
    captures: list[Any] = []
    bodies: list[Any] = []
    deliveries: list[Any] = []
    trailers: list[tuple[bytes, int]] = []
    long_bodies: list[tuple[int | None, int]] = []
    grown: dict[int, int] = {}
    for seq, (_, c, tail, body_key, targets, headers, size) in enumerate(adds, first):
        grown[c.endpoint_id] = grown.get(c.endpoint_id, 0) + size
        captures.append(seq)
        captures += _plain(c)
        captures += (headers, DELIVERY_CODE[c.delivery], c.read, (c.provider or NOBODY) if c.identified else None)
        if c.trailers:
            trailers.append((encode_headers(c.trailers), seq))
        if body_key is not None:
            long_bodies.append((complete(connection, body_key, seq, tail, c.size), seq))
            grown[LOOSE] = grown.get(LOOSE, 0) - (c.size - len(tail))
        elif tail:
            bodies += (seq, tail)
        for target in targets:
            at = now_us()
            deliveries += (uuid7(at), seq, c.endpoint_id, target.id, target.url, DeliveryState.QUEUED.value, at)
    CAPTURES.insert(connection, captures)
    BODIES.insert(connection, bodies)
    DELIVERIES.insert(connection, deliveries)
    grow(connection, grown)
    # Separate statements: so few captures have these that values for each row would cost more.
    if trailers:
        connection.executemany("UPDATE capture SET trailers = ? WHERE seq = ?", trailers)
    if long_bodies:
        connection.executemany("UPDATE capture SET body_key = ? WHERE seq = ?", long_bodies)
    return first


class Inserts:
    """Stores groups of captures for the writer, and publishes them once they are on disk."""

    def __init__(self, counts: RequestCounts, limits: StorageLimits, publish: Callable[[Event], None]) -> None:
        self._request_counts, self._limits, self._publish = counts, limits, publish

    def write(self, connection: sqlite3.Connection, adds: list[Add]) -> int:
        return insert(connection, adds)

    def stored(self, adds: list[Add], first_seq: int) -> None:
        """Wake the waiting callers, count, and publish one event for the whole commit."""
        summaries = []
        grown: dict[int, int] = {}
        taken, in_parts = 0, []
        for seq, (future, capture, _, body_key, _, _, size) in enumerate(adds, first_seq):
            if not future.done():
                future.set_result(seq)
            taken += size
            if body_key is not None:
                in_parts.append(body_key)
            endpoint_id = capture.endpoint_id
            if endpoint_id in self._request_counts:
                summaries.append(capture.summary(seq))
                grown[endpoint_id] = grown.get(endpoint_id, 0) + size
        self._limits.stored(taken, in_parts)
        self._request_counts.newest_seq = first_seq + len(adds) - 1
        if summaries:
            self._request_counts.stored(summaries, grown)
            self._publish(Captured(summaries=tuple(summaries)))
