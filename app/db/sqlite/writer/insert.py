"""Inserts captures, underneath peewee: all rows of a table in one statement.

sqlite3 releases the interpreter's lock at each statement, and taking it again from a busy loop may cost more than the
insert: the fewer statements, the more captures a second.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from peewee import Database

from app.core.clock import now_us
from app.core.ids import uuid7
from app.core.model import DeliveryState
from app.db.body_parts import complete
from app.db.counts import LOOSE, grow
from app.db.models import DELIVERY_CODE, NOBODY, encode_headers
from app.db.raw_sql import ManyRows, raw
from app.db.write_jobs import Add

_PLAIN = (
    *("id", "endpoint_id", "received_at", "method", "target", "http_version", "content_type", "size", "sha256"),
    *("source_address", "source_port", "scheme", "complete", "response_status", "event", "delivery_id", "gist"),
)
"""Columns that hold a field of the capture unchanged; `_plain` reads them all at once."""
_plain = attrgetter(*_PLAIN)
CAPTURES = ManyRows("capture", (*_PLAIN, "headers", "delivery", "is_read", "provider"))
BODIES = ManyRows("capture_body", ("key", "data"))
DELIVERIES = ManyRows("delivery", ("id", "capture_seq", "endpoint_id", "target_id", "url", "state", "queued_at"))


def insert(database: Database, adds: list[Add]) -> int:
    """Insert captures with their bodies, or the last parts of long ones, and the deliveries they queue. Returns the
    number of the first; those of the others follow. Runs on the writer's thread, within its transaction."""
    connection = raw(database)
    captures: list[Any] = []
    grown: dict[int, int] = {}
    for _, c, _, _, _, _, headers, size, _ in adds:
        grown[c.endpoint_id] = grown.get(c.endpoint_id, 0) + size
        captures += _plain(c)
        captures += (headers, DELIVERY_CODE[c.delivery], c.read, (c.provider or NOBODY) if c.identified else None)
    first = CAPTURES.insert(database, captures) - len(adds) + 1
    bodies: list[Any] = []
    deliveries: list[Any] = []
    # Separate statements: so few captures have these that values for each row would cost more.
    trailers: list[tuple[bytes, int]] = []
    long_bodies: list[tuple[int | None, int]] = []
    for seq, (_, c, tail, body_key, targets, _, _, _, _) in enumerate(adds, first):
        if c.trailers:
            trailers.append((encode_headers(c.trailers), seq))
        if body_key is not None:
            long_bodies.append((complete(database, body_key, seq, tail, c.size), seq))
            grown[LOOSE] = grown.get(LOOSE, 0) - (c.size - len(tail))
        elif tail:
            bodies += (seq, tail)
        for target in targets:
            at = now_us()
            deliveries += (uuid7(at), seq, c.endpoint_id, target.id, target.url, DeliveryState.QUEUED.value, at)
    BODIES.insert(database, bodies)
    DELIVERIES.insert(database, deliveries)
    grow(database, grown)
    if trailers:
        connection.executemany("UPDATE capture SET trailers = ? WHERE seq = ?", trailers)
    if long_bodies:
        connection.executemany("UPDATE capture SET body_key = ? WHERE seq = ?", long_bodies)
    return first
