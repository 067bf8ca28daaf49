"""What happened lately, in order, for callers that follow it: the events of the bus, each with a number.

The log records from its first use on. It keeps the newest events within bounds of count and size, once for all
callers. New events are shown to them at most every 20 ms, and every 100 ms while thousands come a second, so that a
hundred callers cost captures little.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from app.core.events import (
    Bus,
    Captured,
    DeliveryChanged,
    EndpointRemoved,
    EndpointSaved,
    Event,
    Refused,
    ReplayChanged,
    Subscriptions,
    TunnelChanged,
)
from app.core.model import Summary
from app.core.record import Record
from app.server.api.serializers import made
from hookline import records

if TYPE_CHECKING:
    from app.db.captures import Captures

KEPT = 10_000
"""Events."""
KEPT_BYTES = 8 * 1024 * 1024
"""Of these events together, about."""
MERGE_S, BUSY_MERGE_S, BUSY = 0.02, 0.1, 100
"""Seconds between two times that new events are shown, and when as many as `BUSY` came in the time before."""
EVENT_BYTES = 1_000
"""About what an event takes, as a record and as sent, besides the texts of senders."""

POSITION_PATTERN = "([0-9a-z]{1,16})-([0-9]{1,15})-([0-9]{1,15})"
_POSITION = re.compile(POSITION_PATTERN)


class Position(Record, frozen=True):
    """A place in the log: the last event's number in this run of the program, and the newest capture's `seq`, which
    holds across runs."""

    run: str
    number: int
    capture: int

    def __str__(self) -> str:
        return f"{self.run}-{self.number}-{self.capture}"


def parse_position(text: str) -> Position | None:
    """The position that was written as `text`; None if it is none."""
    found = _POSITION.fullmatch(text)
    return None if found is None else Position(run=found[1], number=int(found[2]), capture=int(found[3]))


def stored_position(seq: int) -> Position:
    """That of a capture which was read from the store. It names no run: that of another node may know a later number
    for it than the caller's, and would show what lies between again."""
    return Position(run="0", number=0, capture=seq)


class LoggedEvent(msgspec.Struct, gc=False):
    """An event with its number and the newest capture's `seq`.

    `text` is the event as callers get it, and `endpoint` the slug of the endpoint it is about: both None until a caller
    wants the text.
    """

    number: int
    capture: int
    what: Event | Summary
    size: int
    endpoint: str | None = None
    text: bytes | None = None


class EventLog:
    """All methods are called on the loop's thread."""

    def __init__(self, bus: Bus, captures: Captures) -> None:
        self._bus, self._captures = bus, captures
        self._subscriptions = Subscriptions(bus)
        self._events: deque[LoggedEvent] = deque()
        self._bytes = self._last = self._newest_capture = 0
        self.shown = 0
        """The number of the newest event that is shown."""
        self.followers: set[asyncio.Event] = set()
        """Set whenever there are new events."""
        self._timer: asyncio.TimerHandle | None = None
        self._run = ""
        self.on_recorded: Callable[[Sequence[LoggedEvent]], None] | None = None
        """Called with events soon after they were recorded, before most of them are shown."""

    def newest(self) -> Position:
        """The position of the newest event, shown or not; records from now on."""
        if not self._run:
            self._start()
        return Position(run=self._run, number=self._last, capture=self._newest_capture)

    @property
    def run(self) -> bytes:
        """The run in all positions of this log."""
        return self._run.encode()

    def position_of(self, event: LoggedEvent) -> Position:
        return Position(run=self._run, number=event.number, capture=event.capture)

    def holds(self, position: Position) -> bool:
        """Whether everything after `position` is in the log."""
        first = self._last - len(self._events)
        return position.run == self._run and first <= position.number <= self._last

    def since(self, number: int, limit: int, *, shown: bool = True) -> Sequence[LoggedEvent]:
        """The next events after `number`, which the log holds, at most `limit`, of those `shown` so far or of all."""
        first = len(self._events) - (self._last - number)
        until = len(self._events) - (self._last - self.shown if shown else 0)
        return [self._events[at] for at in range(first, min(first + limit, until))]

    def close(self) -> None:
        """Record no more."""
        self._subscriptions.end()
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        self._run = secrets.token_hex(4)
        self._newest_capture = self._captures.newest_seq
        self._subscriptions.add(Captured, self._captured)
        for kind in (DeliveryChanged, EndpointSaved, EndpointRemoved, Refused, ReplayChanged):
            self._subscriptions.add(kind, self._happened)
        self._subscriptions.add(TunnelChanged, self._tunnel_changed)

    def _captured(self, event: Captured) -> None:
        new = []
        for number, summary in enumerate(event.summaries, self._last + 1):
            size = EVENT_BYTES + 2 * (len(summary.target) + len(summary.content_type))
            new.append(LoggedEvent(number, summary.seq, summary, size))
        self._add(new)

    def _happened(self, event: Event) -> None:
        size = EVENT_BYTES
        if isinstance(event, Refused):
            size += 2 * (len(event.refusal.target) + len(event.refusal.reason))
        elif isinstance(event, DeliveryChanged):
            size += 2 * (len(event.delivery.url) + len(event.delivery.captured_target))
        elif isinstance(event, TunnelChanged):
            size += 2 * (len(event.tunnel.url or "") + len(event.tunnel.problem or ""))
        self._add([LoggedEvent(self._last + 1, self._newest_capture, event, size)])

    def _tunnel_changed(self, event: TunnelChanged) -> None:
        """Record what callers see of it: its output and probes change far more often."""
        before, now = (made(records.TunnelChange, tunnel) for tunnel in (event.previous, event.tunnel))
        if now != before:
            self._happened(event)

    def _add(self, new: list[LoggedEvent]) -> None:
        """Show the first new event at once, and what follows it closely together."""
        self._events += new
        self._bytes += sum([event.size for event in new])
        self._last, self._newest_capture = new[-1].number, new[-1].capture
        while len(self._events) > KEPT or self._bytes > KEPT_BYTES:
            self._bytes -= self._events.popleft().size
        if self.on_recorded is not None:
            asyncio.get_running_loop().call_soon(self.on_recorded, new)
        if self._timer is None:
            self._show()

    def _show(self) -> None:
        self._timer = None
        if self.shown == self._last:
            return
        interval_s = MERGE_S if self._last - self.shown < BUSY else BUSY_MERGE_S
        self.shown = self._last
        for follower in self.followers:
            follower.set()
        self._timer = asyncio.get_running_loop().call_later(interval_s, self._show)
