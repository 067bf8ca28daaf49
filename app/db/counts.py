"""How many requests and bytes each endpoint holds: the bytes in the file, and all of it in memory.

The file's byte counts (table `storage_use`) change in the transactions that change the requests, because counting a
million requests at each start would read every row. `core.model.StorageUse` defines what a request takes; triggers
(`schema.py`) subtract it when one is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace
from peewee import Database

from app.core.model import Capture, Counts, Summary
from app.core.record import Record
from app.db.raw_sql import execute

LOOSE = 0
"""The owner of body parts that have no request: still arriving, or waiting to be deleted."""
RESPONSES = -1
"""The owner of what targets responded: bodies and headers."""
REQUEST_OVERHEAD = 1_000
"""Measured with 20,000 requests of 540 bytes each: 370 bytes in the database, 620 in the search index."""
DELIVERY_OVERHEAD = 400
ATTEMPT_OVERHEAD = 200

SIZE = f"{REQUEST_OVERHEAD} + size + length(headers) + length(target) + coalesce(length(trailers), 0)"
"""The bytes of a row of `capture`, without its deliveries."""


RECOUNT = f"""WITH taken AS MATERIALIZED (SELECT endpoint_id, sum(size) AS bytes FROM (
        SELECT endpoint_id, {SIZE} AS size FROM capture
        UNION ALL SELECT endpoint_id, {DELIVERY_OVERHEAD} FROM delivery
        UNION ALL SELECT endpoint_id, {ATTEMPT_OVERHEAD} + length(headers) FROM attempt) AS rows GROUP BY endpoint_id)
    UPDATE storage_use SET bytes = coalesce((SELECT taken.bytes FROM taken WHERE endpoint_id = owner), 0)
    WHERE owner > 0"""
"""For rows that were copied from elsewhere."""


def request_bytes(capture: Capture, headers: bytes, *, deliveries: int) -> int:
    """The bytes of a request without trailers, whose headers are stored as `headers`, with so many queued
    deliveries."""
    size = REQUEST_OVERHEAD + capture.size + len(headers) + len(capture.target)
    return size + DELIVERY_OVERHEAD * deliveries


def grow(database: Database, grown: Mapping[int, int]) -> None:
    """Add bytes to these owners."""
    for owner, size in grown.items():
        execute(database, "UPDATE storage_use SET bytes = bytes + ? WHERE owner = ?", (size, owner))


def all_uses(database: Database) -> dict[int, int]:
    """Bytes by owner."""
    return dict(execute(database, "SELECT owner, bytes FROM storage_use").fetchall())


Tally = tuple[int, int]
"""A number of requests, and how many of them are unread."""


class Removed(Record, frozen=True):
    """What was deleted for good from an endpoint: `total` requests, of them `trashed` by the deletion that hid them
    already, and `seen`, which were not hidden. `last_received_at` is when the newest one left was received (None: there
    is none), if any were seen. `bytes` were freed."""

    total: int
    seen: Tally
    trashed: Mapping[int, Tally]
    last_received_at: int | None
    bytes: int


class Deleted(Record, frozen=True):
    """What a step deleted for good, by endpoint. `loose` bytes became body parts without a request, which a later step
    deletes (then it is negative), `responses` of what targets responded were freed. `unsent` counts, by target, what
    was still to be sent."""

    removed: Mapping[int, Removed] = {}
    loose: int = 0
    responses: int = 0
    unsent: Mapping[int, int] = {}

    @property
    def total(self) -> int:
        return sum(one.total for one in self.removed.values())


class RequestCounts:
    """The counts of all endpoints, in memory, without what deletions hide; the bytes are of all that is stored. Changes
    must be applied in the order of commits."""

    def __init__(self, *, for_all_nodes: bool = False) -> None:
        """With `for_all_nodes` the database counts what is not hidden: what each deletion hides is not known here, for
        others delete some of it, too."""
        self.for_all_nodes = for_all_nodes
        self._counts: dict[int, Counts] = {}
        self.newest_seq = 0
        """The number of the newest stored request; later ones have higher numbers, also after a restart."""
        self._trashed: dict[int, dict[int, Tally]] = {}
        """What each deletion hides of each endpoint."""

    def start(self, endpoint_id: int, counts: Counts) -> None:
        self._counts[endpoint_id] = counts

    def forget(self, endpoint_id: int) -> None:
        self._counts.pop(endpoint_id, None)

    def __contains__(self, endpoint_id: int) -> bool:
        return endpoint_id in self._counts

    def of(self, endpoint_id: int) -> Counts:
        """The counts of one endpoint; all zero for an unknown one."""
        return self._counts.get(endpoint_id, _ZERO)

    def has_none(self, endpoint_id: int) -> bool:
        """Whether it is certain that the endpoint has no requests: other nodes may store some at any time."""
        return not self.for_all_nodes and not self.of(endpoint_id).total

    def stored(self, summaries: Iterable[Summary], grown: Mapping[int, int]) -> None:
        """`grown` are the bytes added, by endpoint."""
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
        if removed.total:
            total, unread = removed.seen
            self.add(endpoint_id, -total, -unread, -removed.bytes)
            if total:
                self.set_newest(endpoint_id, removed.last_received_at)
        for deletion, (total, unread) in removed.trashed.items():
            self._trash(deletion, endpoint_id, -total, -unread)

    def trash(self, deletion: int, endpoint_id: int, total: int, unread: int) -> None:
        """A deletion hides requests."""
        self.add(endpoint_id, -total, -unread)
        self._trash(deletion, endpoint_id, total, unread)

    def restore(self, deletion: int) -> Collection[int]:
        """It hides nothing any more; the endpoints of what it hid, as far as that is known here."""
        hidden = self._trashed.pop(deletion, {})
        for endpoint_id, (total, unread) in hidden.items():
            self.add(endpoint_id, total, unread)
        return hidden

    def hide_trashed(self, endpoint_id: int) -> None:
        """The counts that were set include what deletions hide."""
        for hidden in self._trashed.values():
            total, unread = hidden.get(endpoint_id, (0, 0))
            self.add(endpoint_id, -total, -unread)

    def set_newest(self, endpoint_id: int, received_at: int | None) -> None:
        """When the newest request of the endpoint was received."""
        old = self._counts.get(endpoint_id)
        if old is not None:
            self._counts[endpoint_id] = replace(old, last_received_at=received_at)

    def add(self, endpoint_id: int, total: int = 0, unread: int = 0, stored_bytes: int = 0) -> None:
        """So many more are not hidden, of them so many unread, and take so many bytes; fewer if negative."""
        old = self._counts.get(endpoint_id)
        if old is not None and (total or unread or stored_bytes):
            self._counts[endpoint_id] = replace(
                old, total=old.total + total, unread=old.unread + unread, stored_bytes=old.stored_bytes + stored_bytes
            )

    def _trash(self, deletion: int, endpoint_id: int, total: int, unread: int) -> None:
        if self.for_all_nodes:
            return
        hidden = self._trashed.setdefault(deletion, {})
        total_before, unread_before = hidden.get(endpoint_id, (0, 0))
        hidden[endpoint_id] = (total_before + total, unread_before + unread)


_ZERO = Counts()
