"""New captures in the order of storing, none left out and none twice: first those stored since, then as they come."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from app.core.model import Summary
from app.core.redaction.secret import SecretHeaders
from app.core.search.query import Query
from app.core.store import CaptureRepository
from app.server.api.event_log import EventLog, Position

FIRST_BATCH, BATCH = 8, 500
"""The first one is small, because a caller that is behind often wants only the next capture."""


class CaptureFilter:
    """Which captures a caller wants: of an endpoint (None: of any), matching a query (None: all), with `secret_headers`
    without their secrets."""

    def __init__(
        self,
        captures: CaptureRepository,
        endpoint_id: int | None,
        query: Query | None,
        secret_headers: SecretHeaders | None = None,
    ) -> None:
        self._captures, self.endpoint_id, self._query = captures, endpoint_id, query
        self._secret_headers = secret_headers

    @property
    def has_query(self) -> bool:
        return self._query is not None

    async def wanted(self, summaries: Sequence[Summary]) -> set[str]:
        """The ids of those wanted, at most `BATCH`."""
        ids = {one.id for one in summaries if self.endpoint_id in (None, one.endpoint_id)}
        if self._query is None or not ids:
            return ids
        return await self._captures.matching(self._query, ids, self._secret_headers)


class NewCaptures:
    """Captures after `position`, which moves on with each batch."""

    def __init__(self, log: EventLog, captures: CaptureRepository, start: Position) -> None:
        self._log, self._captures, self.position = log, captures, start
        self._batch = FIRST_BATCH

    async def next(self) -> Sequence[tuple[Position, Summary]]:
        """The next batch, each with its position; empty while there are no new ones."""
        newest = self._log.newest()
        if self._log.holds(self.position):
            return self._from_log()
        while self.position.capture < newest.capture:
            batch = await self._captures.between(self.position.capture, newest.capture, self._batch)
            # The run and the number stay: from there a later call goes on as well.
            found = [(replace(self.position, capture=summary.seq), summary) for summary in batch]
            self.position = found[-1][0] if len(batch) == self._batch else newest
            self._batch = min(4 * self._batch, BATCH)
            if found:
                return found
        self.position = newest
        # What came while the store was read may have pushed this position out of the log: the store has it next time.
        return self._from_log() if self._log.holds(newest) else ()

    def _from_log(self) -> Sequence[tuple[Position, Summary]]:
        while events := self._log.since(self.position.number, self._batch, shown=False):
            self.position = self._log.position_of(events[-1])
            self._batch = min(4 * self._batch, BATCH)
            found = [(self._log.position_of(event), event.what) for event in events if isinstance(event.what, Summary)]
            if found:
                return found
        return ()
