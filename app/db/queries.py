"""Queries of the readers: pages by key, requests in the order of storing, one request, its body. Lists read neither
headers nor bodies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, partial
from hashlib import sha256
from itertools import pairwise
from typing import Any

from msgspec.structs import replace
from peewee import JOIN, SQL, Database, ModelSelect, Select, Tuple, fn

from app.core.activity import Bar
from app.core.errors import DamagedBodyError, NotFoundError
from app.core.model import (
    PART_SIZE,
    Capture,
    CaptureWithBody,
    Counts,
    DeliveryState,
    Endpoint,
    MarkedIds,
    PageKey,
    SenderCount,
    Summary,
)
from app.core.target import Target
from app.db import body_parts
from app.db.counts import all_uses
from app.db.models import (
    DELIVERY_STATE,
    NOBODY,
    CaptureModel,
    EndpointModel,
    NoteModel,
    ResponseTimeModel,
    StarModel,
    TargetModel,
)
from app.db.part import Part, endpoint_not_found
from app.db.raw_sql import execute, is_sqlite, json_list, sql_list
from app.db.records import CAPTURE, SUMMARY, to_endpoint, to_target


def page(
    database: Database,
    endpoint_id: int | None,
    before: PageKey | None,
    after: PageKey | None,
    limit: int,
    *,
    beginning: str | None = None,
) -> list[Summary]:
    """At most `limit` summaries, newest first: the next older than `before`, or the next newer than `after`.

    With `beginning`, only those whose ids begin with it.
    """
    rising = after is not None
    # ids sort as times do, and the index on them serves all endpoints
    by_id = endpoint_id is None or beginning is not None
    place = (CaptureModel.id,) if by_id else (CaptureModel.received_at, CaptureModel.id)
    query = _select(*SUMMARY.columns).where(visible()).limit(limit)
    query = query.order_by(*place) if rising else query.order_by(*(column.desc() for column in place))
    if endpoint_id is not None:
        query = query.where(CaptureModel.endpoint == endpoint_id)
    if beginning is not None:
        query = query.where((CaptureModel.id >= beginning) & (CaptureModel.id < beginning + "g"))  # past every digit
    if before is not None:
        query = query.where(Tuple(*place) < ((before.id,) if by_id else (before.received_at, before.id)))
    if after is not None:
        query = query.where(Tuple(*place) > ((after.id,) if by_id else (after.received_at, after.id)))
    found = [SUMMARY.record(row) for row in query.tuples().execute(database)]
    return found[::-1] if rising else found


def between(database: Database, after: int, upto: int, limit: int) -> list[Summary]:
    """The first `limit` summaries of requests numbered above `after` and at most `upto`, in the order of storing."""
    query = _select(*SUMMARY.columns).where(CaptureModel.seq > after, CaptureModel.seq <= upto, visible())
    query = query.order_by(CaptureModel.seq).limit(limit)
    return [SUMMARY.record(row) for row in query.tuples().execute(database)]


def seq_of(database: Database, capture_id: str) -> int | None:
    """The number of a stored request."""
    query = CaptureModel.select(CaptureModel.seq).where(CaptureModel.id == capture_id, visible())
    seq: int | None = query.scalar(database)
    return seq


def get(database: Database, capture_id: str) -> Capture | None:
    """One request with its headers."""
    row = execute(database, _get_statement(), (capture_id,)).fetchone()
    return None if row is None else CAPTURE.record(row)


def get_with_body(database: Database, capture_id: str) -> CaptureWithBody | None:
    """One request with its headers, and its body if that has one part."""
    row = execute(database, _get_statement(_ONLY_PART), (capture_id,)).fetchone()
    if row is None:
        return None
    capture, part = CAPTURE.record(row), row[CAPTURE.width]
    if capture.size > PART_SIZE:
        return CaptureWithBody(capture=capture, body=None, damaged=None)
    body = part or b""
    damaged = len(body) != capture.size or sha256(body).hexdigest() != capture.sha256
    return CaptureWithBody(capture=capture, body=None if damaged else body, damaged=damaged)


_ONLY_PART = "(SELECT data FROM capture_body WHERE key = t1.seq AND t1.body_key IS NULL)"


@cache
def _get_statement(*more: str) -> str:
    """Built once: that takes peewee much longer than SQLite takes to find the row. `more`: columns after those."""
    return _select(*CAPTURE.columns, *map(SQL, more)).where((CaptureModel.id == SQL("?")) & visible()).sql()[0]


def by_ids(database: Database, ids: Sequence[str]) -> list[Capture]:
    """Requests with their headers, in no order; those that are not stored are left out."""
    query = _select(*CAPTURE.columns).where(CaptureModel.id.in_(sql_list(ids)) & visible())
    return [CAPTURE.record(row) for row in query.tuples().execute(database)]


def body(database: Database, capture_id: str, offset: int, length: int | None) -> bytes:
    """Bytes of a request's body from `offset`, at most `length`; NotFoundError when the request is not there,
    DamagedBodyError when bytes are missing, or a whole body does not match its SHA-256."""
    with database.atomic():
        found = execute(database, _place_of_body(), (capture_id,)).fetchone()
        if found is None:
            raise NotFoundError("This request is no longer stored.")
        seq, body_key, size, digest = found
        end = size if length is None else min(size, offset + length)
        if end <= offset:
            return b""
        data = body_parts.read(database, seq, body_key, offset, end)
    if len(data) != end - offset:
        raise DamagedBodyError
    if length is None and not offset and sha256(data).hexdigest() != digest:
        raise DamagedBodyError
    return data


@cache
def _place_of_body() -> str:
    """Built once, as above."""
    columns = CaptureModel.seq, CaptureModel.body_key, CaptureModel.size, CaptureModel.sha256
    return CaptureModel.select(*columns).where((CaptureModel.id == SQL("?")) & visible()).sql()[0]


def newest_stored(database: Database) -> int:
    """The number of the newest request that is stored, 0 if there is none."""
    return CaptureModel.select(fn.MAX(CaptureModel.seq)).scalar(database) or 0


def newest_received_at(database: Database, endpoint_id: int) -> int | None:
    """When the newest request that is not deleted was received; None without one. Of a deleted endpoint, too: it may be
    restored."""
    row = execute(database, _NEWEST, (endpoint_id,)).fetchone()
    return None if row is None else int(row[0])


def numbers_of(database: Database, ids: Collection[str]) -> frozenset[int]:
    """The numbers of those of these requests that are stored."""
    rows = CaptureModel.select(CaptureModel.seq).where(CaptureModel.id.in_(sql_list(ids)))
    return frozenset(rows.scalars(database))


def stored_ids(database: Database, ids: Collection[str]) -> frozenset[str]:
    """Those of these requests that are stored."""
    rows = CaptureModel.select(CaptureModel.id).where(CaptureModel.id.in_(sql_list(ids)), visible())
    return frozenset(rows.scalars(database))


def marked_ids(database: Database, endpoint_id: int | None) -> MarkedIds:
    """The requests with a star or a note. Reads the few marks, not the requests."""
    starred, noted = (
        frozenset(
            name
            for (name,) in execute(
                database,
                f"SELECT id FROM {table} CROSS JOIN capture ON seq = capture_seq"
                f" WHERE endpoint_id = coalesce(?, endpoint_id) AND {visible_sql()}",
                (endpoint_id,),
            )
        )
        for table in ("capture_star", "capture_note")
    )
    return MarkedIds(starred=starred, noted=noted)


def count_all(database: Database) -> dict[int, Counts]:
    """The counts of each endpoint, from the list's index alone, and the bytes of the other owners.

    Its order gives the newest request; reading that in the same pass would take as long as the rest.
    """
    rows = execute(
        database,
        "SELECT endpoint_id, total, unread,"
        " (SELECT max(received_at) FROM capture WHERE capture.endpoint_id = counted.endpoint_id)"
        " FROM (SELECT endpoint_id, count(*) AS total, count(*) - sum(is_read) AS unread FROM capture"
        " GROUP BY endpoint_id) AS counted",
    )
    counts = {number: Counts(total=total, unread=unread, last_received_at=last) for number, total, unread, last in rows}
    return {
        owner: replace(counts.get(owner, Counts()), stored_bytes=size) for owner, size in all_uses(database).items()
    }


def _select(*columns: Any) -> ModelSelect[CaptureModel]:
    return with_capture(CaptureModel.select(*columns))


def with_capture(query: ModelSelect[Any]) -> ModelSelect[Any]:
    """A query with requests, joined to the tables that hold the other columns of `CAPTURE`."""
    for beside in (ResponseTimeModel, StarModel, NoteModel):
        query = query.join_from(CaptureModel, beside, JOIN.LEFT_OUTER, on=beside.capture == CaptureModel.seq)
    return query


_NOT_OF_TRASHED = "{table}.endpoint_id NOT IN (SELECT id FROM endpoint WHERE trashed IS NOT NULL)"


def trashed_sql(table: str = "capture", seq: str = "seq") -> str:
    """The number of the deletion that hides a request, NULL normally; not of one that hides its whole endpoint. `table`
    has the request's endpoint, and its number in the column `seq`. Endpoints without a deletion cost a look into an
    index that is mostly empty."""
    return (
        f"CASE WHEN {table}.endpoint_id IN (SELECT endpoint_id FROM trash) THEN"
        f" (SELECT CASE WHEN first_seq <= {table}.{seq} THEN deletion END FROM trash"
        f" WHERE trash.endpoint_id = {table}.endpoint_id AND last_seq >= {table}.{seq}"
        " ORDER BY last_seq LIMIT 1) END"
    )


def visible_sql(table: str = "capture", seq: str = "seq") -> str:
    """The condition that excludes deleted requests."""
    return f"({_NOT_OF_TRASHED.format(table=table)} AND coalesce({trashed_sql(table, seq)}, 0) < 1)"


def any_trashed(database: Database) -> bool:
    """Whether anything is hidden. Reads that pass a million rows ask this first: the condition takes an eighth of the
    time of such a read."""
    statement = "SELECT EXISTS (SELECT 1 FROM trash) OR EXISTS (SELECT 1 FROM endpoint WHERE trashed IS NOT NULL)"
    return bool(execute(database, statement).fetchone()[0])


_NEWEST = (
    f"SELECT received_at FROM capture WHERE endpoint_id = ? AND {trashed_sql()} IS NULL"
    " ORDER BY received_at DESC, id DESC LIMIT 1"
)


def visible(table: str = "t1", seq: str = "seq") -> SQL:
    """The same for a query of models, which calls its first table t1."""
    return SQL(visible_sql(table, seq))


def of_visible_endpoint() -> SQL:
    """The condition that excludes requests and deliveries of deleted endpoints, in a query of models."""
    return SQL(_NOT_OF_TRASHED.format(table="t1"))


IN_ORDER = (EndpointModel.position.asc(nulls="LAST"), EndpointModel.id)
"""The user's order."""


def all_endpoints(database: Database, endpoint_id: int | None = None, *, secrets: bool = True) -> list[Endpoint]:
    """All that are not deleted, in the user's order; with an `endpoint_id` only that one. Without `secrets`, of what is
    set for targets only the URL is read."""
    query = EndpointModel.select().where(EndpointModel.trashed.is_null()).order_by(*IN_ORDER)
    columns = () if secrets else (TargetModel.id, *_OF_TARGETS)
    target_query = TargetModel.select(*columns).order_by(TargetModel.position, TargetModel.id)
    if endpoint_id is not None:
        query = query.where(EndpointModel.id == endpoint_id)
        target_query = target_query.where(TargetModel.endpoint == endpoint_id)
    targets: dict[int, list[Target]] = {}
    for row in target_query.execute(database):
        target = to_target(row)
        targets.setdefault(target.endpoint_id, []).append(target)
    found = [to_endpoint(row, tuple(targets.get(row.id, ()))) for row in query.execute(database)]
    if is_sqlite(database):
        return found
    versions = dict(execute(database, "SELECT id, version FROM endpoint").fetchall())
    return [replace(endpoint, version=versions[endpoint.id]) for endpoint in found]


_OF_TARGETS = (TargetModel.endpoint, TargetModel.position, TargetModel.url, TargetModel.active, TargetModel.paused)


def endpoint_of(database: Database, endpoint_id: int) -> Endpoint:
    """Raises NotFoundError."""
    found = all_endpoints(database, endpoint_id)
    if not found:
        raise endpoint_not_found()
    return found[0]


BARS_PER_STEP = 16
"""The readers serve lists and bodies between two steps, so that those never wait for a whole chart of a big store."""

_IN_RANGE = "endpoint_id IN numbers(:endpoint_ids) AND received_at >= :start AND received_at < :end"


def _count(condition: str) -> str:
    return f"""SELECT
    (SELECT count(*) FROM capture INDEXED BY capture_list WHERE {condition}),
    (SELECT count(*) FROM capture INDEXED BY capture_incomplete WHERE complete = 0 AND {condition}),
    forwarded, not_sent, failed
FROM (SELECT count(*) AS forwarded, count(*) FILTER (WHERE delivery = 'u') AS not_sent,
        count(*) FILTER (WHERE delivery = 'f') AS failed
    FROM capture INDEXED BY capture_forwarded
    WHERE delivery IN ('d', 'u', 'f') AND complete = 1 AND {condition}) AS ended"""


COUNT = _count(_IN_RANGE)
_COUNT_VISIBLE = _count(f"{_IN_RANGE} AND {trashed_sql()} IS NULL")


class Activity(Part):
    async def bars(self, endpoint_id: int | None, edges: Sequence[int]) -> list[Bar]:
        """Count the requests between each two consecutive times in `edges` (ascending), of one endpoint or of all
        (None)."""
        found: list[Bar] = []
        for first in range(0, len(edges) - 1, BARS_PER_STEP):
            some = edges[first : first + BARS_PER_STEP + 1]
            found += await self._readers.run(partial(_bars, endpoint_id=endpoint_id, edges=some))
        return found

    async def oldest(self, endpoint_id: int | None) -> int | None:
        """When the oldest stored request was received, of one endpoint or of all (None); None when there is none."""

        def job(database: Database) -> int | None:
            query = "SELECT min(received_at) FROM capture WHERE endpoint_id = ?"
            firsts = (execute(database, query, (one,)).fetchone()[0] for one in _visible(database, endpoint_id))
            return min((first for first in firsts if first is not None), default=None)

        return await self._readers.run(job)

    async def last_outcomes(self) -> dict[int, DeliveryState]:
        """The delivery result of the newest request that was forwarded, by endpoint; replays are none of its own."""

        def job(database: Database) -> dict[int, DeliveryState]:
            rows = {one: execute(database, _OUTCOME, (one,)).fetchone() for one in _visible(database, None)}
            return {one: DELIVERY_STATE[row[0]] for one, row in rows.items() if row is not None}

        return await self._readers.run(job)


_OUTCOME = """SELECT delivery FROM (
        SELECT seq, delivery, received_at FROM capture INDEXED BY capture_forwarded
        WHERE delivery IN ('d', 'u', 'f') AND complete = 1 AND endpoint_id = ? ORDER BY received_at DESC LIMIT 1000
    ) AS newest
    WHERE EXISTS (SELECT 1 FROM delivery WHERE capture_seq = newest.seq AND replay_id IS NULL)
    ORDER BY received_at DESC LIMIT 1"""
"""Of the newest thousand: all of a million may have been replayed alone."""


def _bars(database: Database, endpoint_id: int | None, edges: Sequence[int]) -> list[Bar]:
    statement = _COUNT_VISIBLE if any_trashed(database) else COUNT
    endpoint_ids = json_list(_visible(database, endpoint_id))
    bars = []
    for start, end in pairwise(edges):
        values = {"endpoint_ids": endpoint_ids, "start": start, "end": end}
        total, incomplete, forwarded, not_sent, failed = execute(database, statement, values).fetchone()
        plain, delivered = total - incomplete - forwarded, forwarded - not_sent - failed
        bars.append(Bar(plain=plain, delivered=delivered, not_sent=not_sent, failed=failed, incomplete=incomplete))
    return bars


def _visible(database: Database, endpoint_id: int | None) -> list[int]:
    """The endpoint, or all, except deleted ones, whose requests may still be stored."""
    statement = "SELECT id FROM endpoint WHERE trashed IS NULL AND id = coalesce(?, id)"
    rows = execute(database, statement, (endpoint_id,))
    return [number for (number,) in rows]


NEWEST, MOST = 10_000, 200
"""How many of the newest requests are examined, and how many pairs of provider and event are returned at most."""


class ProviderStats(Part):
    async def lately(self, endpoint_id: int | None) -> list[SenderCount]:
        """The providers and events of an endpoint's newest requests, or of all (None), the most frequent first."""

        def job(database: Database) -> list[SenderCount]:
            newest = CaptureModel.select(CaptureModel.provider, CaptureModel.event).where(visible("t2")).limit(NEWEST)
            if endpoint_id is None:
                newest = newest.order_by(CaptureModel.seq.desc())
            else:
                newest = newest.where(CaptureModel.endpoint == endpoint_id)
                newest = newest.order_by(CaptureModel.received_at.desc(), CaptureModel.id.desc())
            provider, event, count = newest.c.provider, newest.c.event, fn.COUNT(SQL("*"))
            query = (
                Select((newest,), (provider, event, count.alias("count")))
                .where(provider != NOBODY)
                .group_by(provider, event)
            )
            query = query.order_by(count.desc(), provider, event.asc(nulls="FIRST")).limit(MOST)
            return list(query.objects(SenderCount).execute(database))

        return await self._readers.run(job)
