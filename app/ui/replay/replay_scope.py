"""Which requests a replay of many can be about, and how many those are."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from app.core.bodies.escape import escape
from app.core.record import Record
from app.core.replay.spec import ChosenRequests, MatchingRequests, ReplaySource
from app.core.replay.summary import endpoint_name
from app.core.search.parse import parse

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints
    from app.db.store import Store

SELECTED, MATCHING, ALL, RANGE = "selected", "matching", "all", "range"
_NO_LIMIT = 2**31


class ReplayScope(Record, frozen=True):
    """`ids` are selected in the list of an endpoint, or of all (None), which shows those that match `query`, received
    between the two times (microseconds, as in MatchingRequests).
    """

    ids: tuple[str, ...] = ()
    endpoint_id: int | None = None
    query: str = ""
    received_after: int | None = None
    received_before: int | None = None

    @property
    def narrowed(self) -> bool:
        """Whether the list shows only some of the requests."""
        return bool(self.query.strip()) or self.received_after is not None or self.received_before is not None

    def source(self, kind: str, times: tuple[int, int] | None = None) -> ReplaySource:
        """`times` are those of RANGE."""
        if kind == SELECTED:
            return ChosenRequests(ids=self.ids)
        if kind == RANGE and times is not None:
            return MatchingRequests(endpoint_id=self.endpoint_id, received_after=times[0], received_before=times[1])
        if kind == MATCHING:
            return MatchingRequests(
                endpoint_id=self.endpoint_id,
                query=self.query,
                received_after=self.received_after,
                received_before=self.received_before,
            )
        return MatchingRequests(endpoint_id=self.endpoint_id)


def scope_of(source: ReplaySource) -> ReplayScope:
    """What a form is about that begins with the requests of a replay."""
    return ReplayScope(**asdict(source))  # it has the fields of both kinds of source


def shown_endpoint(source: ReplaySource, endpoints: Endpoints) -> str | None:
    """The name of the endpoint that the requests are of, if it is one."""
    name = endpoint_name(source, endpoints.by_id)
    return None if name is None else escape(name)


async def count_requests(source: ReplaySource, store: Store) -> int:
    """How many requests `source` has now.

    The store counts on its own threads. Raises QueryError or StorageUnavailableError.
    """
    if isinstance(source, ChosenRequests):
        return len(source.ids)
    after, before = source.received_after, source.received_before
    if not source.query.strip():
        if after is None and before is None:
            ids = [one.id for one in store.endpoints.all()] if source.endpoint_id is None else [source.endpoint_id]
            return sum(store.captures.counts(endpoint_id).total for endpoint_id in ids)
        bars = await store.activity.bars(source.endpoint_id, [after or 0, before if before is not None else 2**62])
        return sum(bar.total for bar in bars)
    count = 0
    async with aclosing(store.captures.search(parse(source.query), source.endpoint_id, limit=_NO_LIMIT)) as batches:
        async for batch in batches:
            count += sum((after or 0) <= row.received_at < (before or 2**62) for row in batch)
            if batch and batch[-1].received_at < (after or 0):
                break
    return count
