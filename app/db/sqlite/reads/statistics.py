"""Statistics of stored requests: counts over time for the activity chart, and who sent the newest requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from peewee import SQL, Select, SqliteDatabase, fn

from app.core.activity import Bar
from app.core.model import DeliveryState, SenderCount
from app.db.sqlite.part import Part
from app.db.sqlite.raw_sql import json_list, raw
from app.db.sqlite.reads.queries import any_trashed, trashed_sql, visible
from app.db.sqlite.schema import DELIVERY_STATE, NOBODY, CaptureModel

BARS_PER_STEP = 16
"""The readers serve lists and bodies between two steps, so that those never wait for a whole chart of a big store."""

_IN_RANGE = (
    "endpoint_id IN (SELECT value FROM json_each(:endpoint_ids)) AND received_at >= :start AND received_at < :end"
)


def _count(condition: str) -> str:
    return f"""SELECT
    (SELECT count(*) FROM capture INDEXED BY capture_list WHERE {condition}),
    (SELECT count(*) FROM capture INDEXED BY capture_incomplete WHERE complete = 0 AND {condition}),
    forwarded, not_sent, failed
FROM (SELECT count(*) AS forwarded, coalesce(sum(delivery = 'u'), 0) AS not_sent,
        coalesce(sum(delivery = 'f'), 0) AS failed
    FROM capture INDEXED BY capture_forwarded WHERE delivery IN ('d', 'u', 'f') AND complete = 1 AND {condition})"""


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

        def job(database: SqliteDatabase) -> int | None:
            connection = raw(database)
            firsts = (
                connection.execute("SELECT min(received_at) FROM capture WHERE endpoint_id = ?", (one,)).fetchone()[0]
                for one in _visible(connection, endpoint_id)
            )
            return min((first for first in firsts if first is not None), default=None)

        return await self._readers.run(job)

    async def last_outcomes(self) -> dict[int, DeliveryState]:
        """The delivery result of the newest request that has one, by endpoint."""

        def job(database: SqliteDatabase) -> dict[int, DeliveryState]:
            connection = raw(database)
            statement = (
                "SELECT delivery FROM capture INDEXED BY capture_forwarded"
                " WHERE delivery IN ('d', 'u', 'f') AND complete = 1 AND endpoint_id = ?"
                " ORDER BY received_at DESC LIMIT 1"
            )
            rows = {one: connection.execute(statement, (one,)).fetchone() for one in _visible(connection, None)}
            return {one: DELIVERY_STATE[row[0]] for one, row in rows.items() if row is not None}

        return await self._readers.run(job)


def _bars(database: SqliteDatabase, endpoint_id: int | None, edges: Sequence[int]) -> list[Bar]:
    connection = raw(database)
    statement = _COUNT_VISIBLE if any_trashed(database) else COUNT
    endpoint_ids = json_list(_visible(connection, endpoint_id))
    bars = []
    for start, end in pairwise(edges):
        values = {"endpoint_ids": endpoint_ids, "start": start, "end": end}
        total, incomplete, forwarded, not_sent, failed = connection.execute(statement, values).fetchone()
        plain, delivered = total - incomplete - forwarded, forwarded - not_sent - failed
        bars.append(Bar(plain=plain, delivered=delivered, not_sent=not_sent, failed=failed, incomplete=incomplete))
    return bars


def _visible(connection: sqlite3.Connection, endpoint_id: int | None) -> list[int]:
    """The endpoint, or all, except deleted ones, whose requests may still be stored."""
    statement = "SELECT id FROM endpoint WHERE trashed IS NULL AND id = coalesce(?, id)"
    rows = connection.execute(statement, (endpoint_id,))
    return [number for (number,) in rows]


NEWEST, MOST = 10_000, 200
"""How many of the newest requests are examined, and how many pairs of provider and event are returned at most."""


class ProviderStats(Part):
    async def lately(self, endpoint_id: int | None) -> list[SenderCount]:
        """The providers and events of an endpoint's newest requests, or of all (None), the most frequent first."""

        def job(database: SqliteDatabase) -> list[SenderCount]:
            newest = CaptureModel.select(CaptureModel.provider, CaptureModel.event).where(visible("t2")).limit(NEWEST)
            if endpoint_id is None:
                newest = newest.order_by(CaptureModel.seq.desc())
            else:
                newest = newest.where(CaptureModel.endpoint == endpoint_id)
                newest = newest.order_by(CaptureModel.received_at.desc(), CaptureModel.id.desc())
            provider, event, count = newest.c.provider, newest.c.event, fn.COUNT(SQL("*"))
            query = Select((newest,), (provider, event, count)).where(provider != NOBODY).group_by(provider, event)
            rows = query.order_by(count.desc(), provider, event).limit(MOST).tuples().execute(database)
            return [SenderCount(provider=provider, event=event, count=count) for provider, event, count in rows]

        return await self._readers.run(job)
