"""New captures in the order of storing, none left out and none twice: first those stored since, then as they come."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.model import Summary
from app.core.repositories import CapturePositions
from app.core.search.query import Query
from app.server.api.event_log import EventLog

BATCH = 500


class CaptureFilter:
    """Which captures a caller wants: of an endpoint (None: of any), matching a query (None: all)."""

    def __init__(self, captures: CapturePositions, endpoint_id: int | None, query: Query | None) -> None:
        self._captures, self.endpoint_id, self._query = captures, endpoint_id, query

    async def wanted(self, summaries: Sequence[Summary]) -> set[str]:
        """The ids of those wanted, at most `BATCH`."""
        ids = {one.id for one in summaries if self.endpoint_id in (None, one.endpoint_id)}
        return ids if self._query is None or not ids else await self._captures.matching(self._query, ids)


class NewCaptures:
    """Captures with positions above `position`, which moves on with each batch."""

    def __init__(self, log: EventLog, captures: CapturePositions, position: int) -> None:
        self._log, self._captures, self.position = log, captures, position
        newest = log.newest()
        self._number = newest.number
        self._stored_upto = newest.capture
        """Up to there they are read from the store, later ones from the log."""

    async def next(self) -> Sequence[tuple[int, Summary]]:
        """The next batch, each with its position; empty while there are no new ones."""
        while self.position < self._stored_upto:
            batch = await self._captures.between(self.position, self._stored_upto, BATCH)
            self.position = batch[-1][0] if len(batch) == BATCH else self._stored_upto
            if batch:
                return batch
        events = self._log.since(self._number, BATCH)
        if events is None:  # they came faster than the caller could follow
            newest = self._log.newest()
            self._number, self._stored_upto = newest.number, newest.capture
            return await self.next()
        if not events:
            return []
        self._number, self.position = events[-1].number, events[-1].position
        return [(event.position, event.what) for event in events if isinstance(event.what, Summary)]
