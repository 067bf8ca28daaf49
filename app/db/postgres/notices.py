"""Tells other nodes of events that no table shows: what was deleted, marked, delivered.

They are written at most 20 times a second, in a commit of their own. When a node dies, what it has not told yet is
lost: lists on other nodes show it when they are read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

import msgspec
from peewee import Database

from app.core.errors import StorageUnavailableError
from app.core.events import (
    DeletionPurged,
    DeletionUndone,
    DeliveriesQueued,
    DeliveryChanged,
    DeliveryDue,
    Event,
    PlanChanged,
    Purged,
    ReplayChanged,
    RequestNoted,
    RequestsChanged,
    RequestsDescribed,
    RequestsIdentified,
    RequestsRemoved,
    RequestsStarred,
    TargetChanged,
)
from app.db.part import Writer
from app.db.raw_sql import execute
from app.db.write_jobs import Job
from hookline.decoding import decode_json

log = logging.getLogger(__name__)

_TOLD: tuple[type[Event], ...] = (
    *(RequestsChanged, RequestsStarred, RequestNoted, RequestsIdentified, RequestsDescribed, RequestsRemoved),
    *(
        DeletionPurged,
        DeletionUndone,
        DeliveryChanged,
        TargetChanged,
        DeliveriesQueued,
        DeliveryDue,
        ReplayChanged,
        PlanChanged,
        Purged,
    ),
)
_KINDS = {kind.__name__: kind for kind in _TOLD}
DELAY_S = 0.05
MOST = 5_000
"""Events that wait while nothing can be stored."""
_READ = "SELECT number, node, events FROM notice WHERE number > ? ORDER BY number LIMIT 500"


class Notices:
    """What this node tells. Used on the loop's thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: Event) -> None:
        """Tell the other nodes of it, if it is theirs to know."""
        if isinstance(event, _TOLD) and len(self._waiting) < MOST:
            self._waiting.append(event)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(DELAY_S, self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._waiting = self._waiting, []

        def failed(error: Exception) -> None:
            if isinstance(error, StorageUnavailableError):
                for event in events:
                    self.add(event)
            else:
                log.error("other nodes were not told of %d events", len(events), exc_info=error)

        if events:
            try:
                self._writer.put(Job(lambda database: _write(database, _encode(events)), lambda _: None, failed))
            except StorageUnavailableError as error:  # closed
                log.debug("other nodes were not told of %d events: %s", len(events), error)


def _encode(events: Iterable[Event]) -> bytes:
    lines = []
    for event in events:
        try:
            lines.append(type(event).__name__.encode() + b" " + msgspec.json.encode(event))
        except UnicodeEncodeError:  # half of a surrogate pair, in what a body says: the lists show it when read again
            log.debug("other nodes were not told of a %s", type(event).__name__)
    return b"\n".join(lines)


def _write(database: Database, events: bytes) -> None:
    execute(database, "INSERT INTO notice (events) VALUES (?)", (events,))


def read_notices(database: Database, after: int, node: int) -> tuple[int, list[Event]]:
    """What other nodes than `node` have told, and the number up to which that was read."""
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
