"""Reads which requests a list has, loaded or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from app.core.model import PageKey, Record, Summary
from app.core.repositories import CaptureRepository
from app.core.search.query import Query
from app.ui.requests.filter.search_pager import bounds
from app.ui.requests.list.time_range import TimeRange
from app.ui.requests.selection.selected_requests import SelectedRequests

NO_LIMIT = 2**31


class Listed(Record, frozen=True):
    """A list: whose requests it has (None: all), what it is filtered by, and what time it is narrowed to."""

    endpoint_id: int | None
    query: Query | None
    time_range: TimeRange | None


class Gathered:
    """What was read so far. Requests in `late` came meanwhile: they are left out."""

    def __init__(self) -> None:
        self.late: set[str] = set()
        self._newest_first: list[str] = []
        self._unread = self._starred = 0
        self._endpoint_ids: set[int] = set()
        self._first = self._last = 0

    def __len__(self) -> int:
        return len(self._newest_first)

    def add(self, newest_first: Iterable[Summary]) -> None:
        """These are next."""
        for one in newest_first:
            if one.id not in self.late:
                self._newest_first.append(one.id)
                self._unread += not one.read
                self._starred += one.starred
                self._endpoint_ids.add(one.endpoint_id)
                self._first, self._last = one.received_at, self._last or one.received_at

    def chosen(self, query: Query | None) -> SelectedRequests:
        """All of it, found by `query`."""
        ids = [name for name in reversed(self._newest_first) if name not in self.late]
        return SelectedRequests(
            ids=ids,
            unread=self._unread,
            starred=self._starred,
            endpoint_ids=frozenset(self._endpoint_ids),
            first=self._first,
            last=self._last,
            whole=True,
            filter=query.text.strip() if query else "",
        )


async def requests_of(
    captures: CaptureRepository, listed: Listed, before: PageKey | None
) -> AsyncGenerator[list[Summary], None]:
    """The list's requests older than `before`, newest first, in batches as they are found."""
    terms = listed.query.terms if listed.query else ()
    query = Query(text=listed.query.text if listed.query else "", terms=(*terms, *bounds(listed.time_range)))
    async with aclosing(captures.search(query, listed.endpoint_id, before=before, limit=NO_LIMIT)) as found:
        async for batch in found:
            yield batch
