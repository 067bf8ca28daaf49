"""What other nodes did: the requests they stored, in the order of their numbers, and the endpoints they changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from peewee import Database

from app.core.events import Event
from app.core.model import Counts, Endpoint, Summary
from app.core.record import Record
from app.db import queries
from app.db.postgres.notices import read_notices
from app.db.raw_sql import execute

MOST = 10_000
"""Requests that are read at once."""


_Use = tuple[int, int, int, int]
"""An owner, its bytes, its requests, and those that are unread."""


class Changes(Record, frozen=True):
    """What a look has found. `order` has the ids of all endpoints; `changed` are those of another version than was
    known; `counts` are of all endpoints, and the bytes of the other owners; `events` are what other nodes tell."""

    order: tuple[int, ...]
    changed: tuple[Endpoint, ...]
    counts: Mapping[int, Counts]
    stored: tuple[Summary, ...]
    events: tuple[Event, ...]


class Follower:
    """Used on the writer's thread alone, whose commits it knows."""

    def __init__(self) -> None:
        self.number = 0
        """That of this node."""
        self._reads = True
        """Whether it may read requests."""
        self._seq = 0
        self._versions: dict[int, int] = {}
        self._seen: tuple[object, ...] = ()
        self._notice = 0
        self._uses: dict[int, tuple[_Use, Counts]] = {}

    def others(self, database: Database, first: int, count: int) -> list[Summary]:
        """What others stored before this node stored `count` requests from number `first` on."""
        found = []
        if self._reads and first != self._seq + 1:
            found = queries.between(database, self._seq, first - 1, first)
        self._seq = first + count - 1
        return found

    def start(self, database: Database, *, reads: bool) -> None:
        """What is stored now is known. With `reads` it may read requests, not endpoints and their counts alone."""
        self._reads, self._versions = reads, self._read_versions(database)
        if reads:
            self._seq = queries.newest_stored(database)
            (self._notice,) = execute(database, "SELECT coalesce(max(number), 0) FROM notice").fetchone()

    def read(self, database: Database) -> Changes | None:
        """What changed since the last look; None if nothing did. All of it is read at one moment: a request
        could else be shown before it is counted, and a list is empty while nothing is counted."""
        with database.atomic("REPEATABLE READ"):
            versions = self._read_versions(database)
            uses = self._read_uses(database)
            stored, notice, events = list[Summary](), self._notice, list[Event]()
            if self._reads:
                stored = queries.between(database, self._seq, 2**62, MOST)
                notice, events = read_notices(database, self._notice, self.number)
            seen = (tuple(versions.items()), uses)
            if not stored and not events and seen == self._seen:
                return None
            changed = [number for number, version in versions.items() if self._versions.get(number) != version]
            only = changed[0] if len(changed) == 1 else None
            endpoints = queries.all_endpoints(database, only, secrets=self._reads) if changed else []
            counts = self._counts(database, uses)
        self._notice, self._seen, self._versions = notice, seen, versions
        if stored:
            self._seq = stored[-1].seq
        return Changes(
            order=tuple(versions),
            changed=tuple(one for one in endpoints if one.id in changed),
            counts=counts,
            stored=tuple(stored),
            events=tuple(events),
        )

    def counts(self, database: Database) -> dict[int, Counts]:
        """Of all endpoints, and the bytes of the other owners."""
        return self._counts(database, self._read_uses(database))

    def _read_uses(self, database: Database) -> tuple[_Use, ...]:
        return tuple(execute(database, "SELECT owner, bytes, total, unread FROM storage_use ORDER BY owner").fetchall())

    def _read_versions(self, database: Database) -> dict[int, int]:
        """Of all endpoints that are not deleted, in the user's order."""
        query = "SELECT id, version FROM endpoint WHERE trashed IS NULL ORDER BY position NULLS LAST, id"
        return dict(execute(database, query).fetchall())

    def _counts(self, database: Database, uses: Sequence[_Use]) -> dict[int, Counts]:
        """Reads again when the newest request came only of those that have changed."""
        before, self._uses = self._uses, {}
        for use in uses:
            owner, size, total, unread = use
            known = before.get(owner)
            if known is None or known[0] != use:
                last = queries.newest_received_at(database, owner) if total and self._reads else None
                counts = Counts(total=total, unread=unread, last_received_at=last, stored_bytes=size)
                known = use, counts
            self._uses[owner] = known
        return {owner: counts for owner, (_, counts) in self._uses.items()}
