"""How many requests each endpoint holds, kept in memory: counted once at start, then moved by each commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from app.core.model import Counts, Record, Summary
from app.db.storage_use import Freed


class Removed(Record, frozen=True):
    """What was deleted from an endpoint, and when its newest remaining request was received (None: none is left)."""

    total: int
    unread: int
    last_received_at: int | None
    freed: Freed


class RequestCounts:
    """The numbers of all endpoints. Changes come in the order of commits."""

    def __init__(self) -> None:
        self._counts: dict[int, Counts] = {}

    def start(self, endpoint_id: int, counts: Counts) -> None:
        """Begin to count for an endpoint, with these numbers."""
        self._counts[endpoint_id] = counts

    def forget(self, endpoint_id: int) -> None:
        """Drop the numbers of a deleted endpoint."""
        self._counts.pop(endpoint_id, None)

    def __contains__(self, endpoint_id: int) -> bool:
        return endpoint_id in self._counts

    def of(self, endpoint_id: int) -> Counts:
        """The numbers of one endpoint; all zero for one that is not there."""
        return self._counts.get(endpoint_id, _ZERO)

    def stored(self, summaries: Iterable[Summary], grown: Mapping[int, int]) -> None:
        """Requests were stored; `grown` are the bytes by endpoint."""
        fresh: dict[int, list[int]] = {}
        for summary in summaries:
            change = fresh.get(summary.endpoint_id)
            if change is None:
                fresh[summary.endpoint_id] = change = [0, 0, 0]
            change[0] += 1
            change[1] += not summary.read
            change[2] = max(change[2], summary.received_at)
        for endpoint_id, (total, unread, last) in fresh.items():
            old = self._counts.get(endpoint_id)
            if old is not None:
                self._counts[endpoint_id] = Counts(
                    total=old.total + total,
                    unread=old.unread + unread,
                    last_received_at=max(last, old.last_received_at or 0),
                    stored_bytes=old.stored_bytes + grown.get(endpoint_id, 0),
                )

    def removed(self, endpoint_id: int, removed: Removed) -> None:
        old = self._counts.get(endpoint_id)
        if old is not None and removed.total:
            self._counts[endpoint_id] = Counts(
                total=old.total - removed.total,
                unread=old.unread - removed.unread,
                last_received_at=removed.last_received_at,
                stored_bytes=old.stored_bytes - removed.freed.bytes,
            )

    def marked(self, endpoint_id: int, unread: int) -> None:
        """`unread` more are unread than before (fewer, when negative)."""
        old = self._counts.get(endpoint_id)
        if old is not None and unread:
            self._counts[endpoint_id] = replace(old, unread=old.unread + unread)

    def grew(self, endpoint_id: int, size: int) -> None:
        """Add `size` bytes that a delivery's response takes."""
        old = self._counts.get(endpoint_id)
        if old is not None and size:
            self._counts[endpoint_id] = replace(old, stored_bytes=old.stored_bytes + size)


_ZERO = Counts()
