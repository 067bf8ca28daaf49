"""The attempts of deliveries: what was sent and what came back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace
from peewee import SqliteDatabase, fn

from app.core.delivery import Attempt, Delivery, FailureKind
from app.core.errors import NotFoundError
from app.core.model import DeliveryState
from app.db.encoded_headers import encode_headers
from app.db.sqlite.counts import ATTEMPT_OVERHEAD, RESPONSES, grow
from app.db.sqlite.raw_sql import raw, sql_list
from app.db.sqlite.reads.records import to_attempt
from app.db.sqlite.schema.schema import AttemptModel, DeliveryModel
from app.db.sqlite.writer.insert import ManyRows

_PLAIN = (
    *("number", "started_at", "ms", "method", "url", "size", "reused", "http_version", "status", "response_size"),
    *("response_truncated", "error"),
)
"""Columns that hold a field unchanged; `_plain` reads them all at once."""
_plain = attrgetter(*_PLAIN)
_COLUMNS = (
    *("delivery_seq", "endpoint_id", *_PLAIN, "trigger", "failure", "headers", "response_headers", "response_body"),
    *("lookup_ms", "connect_ms", "tls_ms", "first_byte_ms"),
)
_ATTEMPTS = ManyRows("attempt", _COLUMNS, conflict=" ON CONFLICT (delivery_seq, number) DO NOTHING")

_WITHOUT_BODY = [
    *(getattr(AttemptModel, name) for name in _COLUMNS if name not in ("delivery_seq", "response_body")),
    AttemptModel.response_removed,
]

INTERRUPTED = "Hookline stopped while this attempt was being made: the target may have received it."


class Grown(NamedTuple):
    """The bytes that attempts take, without their responses, and those of the responses."""

    attempts: int = 0
    responses: int = 0


def insert(
    connection: sqlite3.Connection, tried: Sequence[tuple[int, int, Sequence[tuple[Attempt, bytes]]]]
) -> list[Grown]:
    """Store attempts: of each delivery its number, its endpoint, and the attempts with the bodies of their responses.
    Returns what each delivery's take. Runs on the writer's thread.

    An attempt that is stored already stays as it is: one that was stored before it was sent again, and comes with the
    other.
    """
    values: list[Any] = []
    grown = []
    for delivery_seq, endpoint_id, made in tried:
        size = responses = 0
        stored = _numbers(connection, delivery_seq) if len(made) > 1 else ()
        for attempt, body in made:
            if attempt.number in stored:
                continue
            headers, response_headers = encode_headers(attempt.headers), encode_headers(attempt.response_headers)
            failure, timing = attempt.failure, attempt.timing
            values += (delivery_seq, endpoint_id, *_plain(attempt), attempt.trigger.value)
            values += (failure and failure.value, headers, response_headers, body)
            values += (timing.lookup, timing.connect, timing.tls, timing.first_byte)
            size += ATTEMPT_OVERHEAD + len(headers)
            responses += attempt.response_size + len(response_headers)
        grown.append(Grown(size, responses))
    _ATTEMPTS.insert(connection, values)
    return grown


def _numbers(connection: sqlite3.Connection, delivery_seq: int) -> set[int]:
    """Those of its stored attempts."""
    rows = connection.execute("SELECT number FROM attempt WHERE delivery_seq = ?", (delivery_seq,))
    return {number for (number,) in rows.fetchall()}


_REMOVED_UPTO = "SELECT max(seq) FROM attempt INDEXED BY attempt_removed WHERE response_removed = 1"
_OLDEST = f"""SELECT seq, response_size + length(response_headers) FROM attempt
    WHERE seq > coalesce(({_REMOVED_UPTO}), 0) ORDER BY seq LIMIT ?"""
_REMOVE = """UPDATE attempt SET response_removed = 1, response_truncated = response_truncated OR response_size > 0,
    response_size = 0, response_headers = :none, response_body = x''
    WHERE seq BETWEEN :first AND :last"""


class RemovedResponses(NamedTuple):
    """How many attempts were examined, and the bytes of their responses that were removed."""

    examined: int
    freed: int


def remove_oldest(database: SqliteDatabase, limit: int, *, needed: int) -> RemovedResponses:
    """Remove the responses of the oldest attempts, at most `limit` of them, until `needed` bytes are freed. The
    attempts stay."""
    connection = raw(database)
    none = encode_headers(())
    chosen: list[int] = []
    freed = 0
    for seq, size in connection.execute(_OLDEST, (limit,)).fetchall():
        chosen.append(seq)
        freed += size - len(none)
        if freed >= needed:
            break
    if chosen:
        connection.execute(_REMOVE, {"none": none, "first": chosen[0], "last": chosen[-1]})
        grow(connection, {RESPONSES: -freed})
    return RemovedResponses(len(chosen), freed)


def of_delivery(database: SqliteDatabase, delivery_id: str) -> list[Attempt]:
    """In order. NotFoundError if there is no such delivery."""
    query = AttemptModel.select(*_WITHOUT_BODY).where(AttemptModel.delivery == _seq_of(database, delivery_id))
    return [to_attempt(row, delivery_id) for row in query.order_by(AttemptModel.number).execute(database)]


def last_of(database: SqliteDatabase, delivery_ids: Sequence[str]) -> dict[str, Attempt]:
    """The last attempt of each of these deliveries that has one."""
    other = AttemptModel.alias()
    newest = other.select(fn.MAX(other.number)).where(other.delivery == DeliveryModel.seq)
    query = (
        AttemptModel.select(*_WITHOUT_BODY, DeliveryModel.id.alias("delivery_id"))
        .join(DeliveryModel)
        .where(DeliveryModel.id.in_(sql_list(delivery_ids)), AttemptModel.number == newest)
    )
    return {row.delivery_id: to_attempt(row, row.delivery_id) for row in query.objects().execute(database)}


def response_body(database: SqliteDatabase, delivery_id: str, number: int | None) -> bytes:
    """The body of the response to this attempt, or to the last (None); NotFoundError if it is not stored."""
    query = AttemptModel.select(AttemptModel.response_body).where(
        AttemptModel.delivery == _seq_of(database, delivery_id)
    )
    if number is not None:
        query = query.where(AttemptModel.number == number)
    for (data,) in query.order_by(AttemptModel.number.desc()).limit(1).tuples().execute(database):
        return bytes(data)
    if number is None:
        return b""
    raise NotFoundError("This attempt is no longer stored.")


def interrupted(delivery: Delivery, url: str, method: str, sending_at: int) -> tuple[Attempt, Delivery]:
    """The attempt to `url` that was being made when Hookline ended, and its delivery afterwards.

    A delivery to a target stays queued, and the attempt uses up no retry; a replay has failed.
    """
    attempt = Attempt(
        delivery_id=delivery.id,
        number=delivery.attempts + 1,
        trigger=delivery.next_trigger,
        started_at=sending_at,
        ms=0.0,
        method=method,
        url=url,
        failure=FailureKind.INTERRUPTED,
        error=INTERRUPTED,
    )
    replayed = delivery.replay_id is not None
    after = replace(
        delivery,
        url=attempt.url,
        state=DeliveryState.FAILED if replayed else delivery.state,
        attempts=attempt.number,
        started_at=sending_at,
        ms=None,
        status=None,
        error=INTERRUPTED,
        interrupted=True,
        due_at=0,
    )
    return attempt, after


def shortened(attempt: Attempt, body: bytes, size: int) -> tuple[Attempt, bytes]:
    """The attempt with no more than `size` bytes of the response's body."""
    if len(body) <= size:
        return attempt, body
    return replace(attempt, response_size=size, response_truncated=True), body[:size]


def _seq_of(database: SqliteDatabase, delivery_id: str) -> int:
    query = DeliveryModel.select(DeliveryModel.seq).where(DeliveryModel.id == delivery_id)
    seq: int | None = query.scalar(database)
    if seq is None:
        raise NotFoundError("This delivery is no longer stored.")
    return seq
