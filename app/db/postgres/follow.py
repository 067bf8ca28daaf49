"""What other nodes did: the requests they stored, in the order of their numbers, the endpoints they changed, and the
events that they tell of, which no table shows: what was deleted, marked, delivered.

A node looks now and then; that another has stored something is a hint alone. Notices are written at most 20 times a
second, in a commit of their own. When a node dies, what it has not told yet is lost: lists on other nodes show it when
they are read again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from selectors import EVENT_READ, DefaultSelector
from threading import Event as Flag
from threading import Thread

import msgspec
import psycopg
from peewee import Database, PeeweeException

from app.core.events import (
    DeletionPurged,
    DeletionUndone,
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRead,
    Event,
    PlanChanged,
    Purged,
    ReplayChanged,
    RequestsRemoved,
    RequestsUpdated,
    TargetChanged,
)
from app.core.model import Counts, Endpoint, Summary
from app.core.record import Record
from app.db import queries
from app.db.postgres.database import PostgresDatabase
from app.db.raw_sql import execute, raw
from hookline.decoding import decode_json

log = logging.getLogger(__name__)

CHANNEL = "hookline"
"""On which the nodes notify each other."""
MOST_AT_ONCE = 10_000
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
                stored = queries.between(database, self._seq, 2**62, MOST_AT_ONCE)
                notice, events = _read_notices(database, self._notice, self.number)
            seen = (tuple(versions.items()), uses)
            if not stored and not events and seen == self._seen:
                self._notice = notice  # all its own: they would fill the next look, too, and hide those behind them
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


RETRY_S = 2.0


class Listener:
    """A connection and a thread of its own. All public methods are called on the loop's thread."""

    def __init__(self, address: str, follower: Follower, heard: Callable[[], None]) -> None:
        """`heard` is called on the loop's thread, for what other nodes say."""
        self._database = PostgresDatabase(address, read_only=True)
        self._follower, self._heard = follower, heard
        self._loop = asyncio.get_running_loop()
        self._stopped, self._ended = Flag(), asyncio.Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = Thread(target=self._main, name="hookline-listener", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stopped.set()
        self._database.cut(closing=True)
        if self._thread is not None:
            await self._ended.wait()
            self._thread.join()

    def _main(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    self._listen()
                except (psycopg.Error, PeeweeException):
                    self._stopped.wait(RETRY_S)
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)

    def _listen(self) -> None:
        with contextlib.closing(self._database), DefaultSelector() as selector:
            self._database.connect()
            connection = raw(self._database)
            connection.execute(f"LISTEN {CHANNEL}")
            selector.register(connection.fileno(), EVENT_READ)
            while not self._stopped.is_set():
                connection.pgconn.consume_input()
                while (notice := connection.pgconn.notifies()) is not None:
                    if notice.extra != str(self._follower.number).encode():
                        self._loop.call_soon_threadsafe(self._heard)
                selector.select()


SHARED_EVENTS: tuple[type[Event], ...] = (
    *(RequestsUpdated, EndpointRead, RequestsRemoved, DeletionPurged, DeletionUndone, Purged),
    *(DeliveryChanged, DeliveriesQueued, TargetChanged, ReplayChanged, PlanChanged),
)
"""The events that other nodes are told of."""
_KINDS = {kind.__name__: kind for kind in SHARED_EVENTS}
_READ = "SELECT number, node, events FROM notice WHERE number > ? ORDER BY number LIMIT 500"
NOTICES_S = 0.05
"""How long events are collected for other nodes."""


def _encode(events: Iterable[Event]) -> bytes:
    lines = []
    for event in events:
        try:
            lines.append(type(event).__name__.encode() + b" " + msgspec.json.encode(event))
        except UnicodeEncodeError:  # half of a surrogate pair, in what a body says: the lists show it when read again
            log.debug("other nodes were not told of a %s", type(event).__name__)
    return b"\n".join(lines)


def write_notice(database: Database, events: Sequence[Event]) -> None:
    """Tell the other nodes of these."""
    execute(database, "INSERT INTO notice (events) VALUES (?)", (_encode(events),))


def tell_all(database: Database, events: Sequence[Event]) -> None:
    """Tell all nodes of these, this one too."""
    execute(database, "INSERT INTO notice (node, events) VALUES (NULL, ?)", (_encode(events),))


def _read_notices(database: Database, after: int, node: int) -> tuple[int, list[Event]]:
    """The number of the last notice read, and the events in those that `node` did not write."""
    found: list[Event] = []
    for number, author, events in execute(database, _READ, (after,)).fetchall():
        after = number
        if author != node:
            found += _decode(bytes(events).split(b"\n"))
    return after, found


def _decode(lines: Sequence[bytes]) -> Iterable[Event]:
    for line in lines:
        name, _, text = line.partition(b" ")
        kind = _KINDS.get(name.decode())
        try:
            if kind is not None:
                yield decode_json(text, kind)
        except msgspec.MsgspecError as error:  # a newer node has other fields
            log.warning("another node told of a %s that cannot be read: %s", kind.__name__ if kind else "", error)
