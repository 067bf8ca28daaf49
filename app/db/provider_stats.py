"""The providers and events among the newest requests."""

from __future__ import annotations

from peewee import SQL, Select, SqliteDatabase, fn

from app.core.model import SenderCount
from app.db.queries import visible
from app.db.readers import Readers
from app.db.schema import NOBODY, CaptureModel

NEWEST, MOST = 10_000, 200
"""So many of the newest requests are looked at, and so many pairs of provider and event given."""


class ProviderStats:
    """Called on the loop's thread, works on a reader's."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def lately(self, endpoint_id: int | None) -> list[SenderCount]:
        """The known senders of an endpoint's newest requests, or of all (None), the most frequent first.

        StorageUnavailableError when the file cannot be read.
        """

        def job(database: SqliteDatabase) -> list[SenderCount]:
            newest = CaptureModel.select(CaptureModel.provider, CaptureModel.event).where(visible()).limit(NEWEST)
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
