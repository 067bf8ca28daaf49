"""Who sent what lately: the providers and events among the newest requests."""

from __future__ import annotations

from peewee import SqliteDatabase

from app.core.model import SenderCount
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.schema import NOBODY

NEWEST, MOST = 10_000, 200
"""So many of the newest requests are looked at, and so many pairs of provider and event given."""

_COUNTED = """SELECT provider, event, count(*) FROM ({newest}) WHERE provider <> :nobody
    GROUP BY provider, event ORDER BY count(*) DESC, provider, event LIMIT :most"""
_VISIBLE = "endpoint_id NOT IN (SELECT id FROM endpoint WHERE removed)"
_ALL = f"SELECT provider, event FROM capture WHERE {_VISIBLE} ORDER BY seq DESC LIMIT :newest"
_ONE = (
    f"SELECT provider, event FROM capture WHERE endpoint_id = :endpoint AND {_VISIBLE}"
    " ORDER BY received_at DESC, id DESC LIMIT :newest"
)


class Senders:
    """Called on the loop's thread, works on a reader's."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def lately(self, endpoint_id: int | None) -> list[SenderCount]:
        """The known senders of an endpoint's newest requests, or of all (None), the most frequent first."""

        def job(database: SqliteDatabase) -> list[SenderCount]:
            statement = _COUNTED.format(newest=_ALL if endpoint_id is None else _ONE)
            values = {"nobody": NOBODY, "most": MOST, "newest": NEWEST, "endpoint": endpoint_id}
            rows = raw(database).execute(statement, values)
            return [SenderCount(provider=provider, event=event, count=count) for provider, event, count in rows]

        return await self._readers.run(job)
