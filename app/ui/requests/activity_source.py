"""Counts of requests over time: read from the database once, then updated from the bus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.core.activity import EMPTY_BAR, Bar, Span, axis_of
from app.core.clock import now_us
from app.core.events import (
    Bus,
    Captured,
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRemoved,
    Purged,
    RequestsRemoved,
    Subscriptions,
)
from app.core.ids import uuid7_ms
from app.core.model import DeliveryState
from app.ui.deleting import DeleteChanged
from app.ui.requests.list.pager import TimeRange
from app.ui.tasks import Latest, Tasks, unless_cancelled
from app.ui.throttle import Throttle

if TYPE_CHECKING:
    from app.db.queries import Activity

PAINT_MS, RECOUNT_MS, CLOCK_MS = 120, 1_000, 1_000
FEW = 16
"""So many bars are counted one by one; with more, all are."""


class ActivitySource(QObject):
    """`axis` and `bars` of one endpoint or of all (None). Nothing is counted until `set_watched`."""

    changed = Signal()

    def __init__(self, activity: Activity, bus: Bus, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.endpoint_id: int | None = None
        self.span = Span.HOUR
        self._activity = activity
        self._watched = False
        self._oldest: int | None = None
        self._latest = Latest(self, tasks, "activity: count")
        self._counting = False
        self._doubtful: set[int] = set()
        """Start times of bars whose count may be wrong."""
        self._clear()
        self._paint = Throttle(PAINT_MS, self, self.changed)
        self._recount = Throttle(RECOUNT_MS, self, self._count_doubtful)
        self._clock = QTimer(self, interval=CLOCK_MS)
        self._clock.timeout.connect(self._advance)
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(DeliveryChanged, self._delivered)
        self._subscriptions.add(DeliveriesQueued, lambda event: self._doubt(event.shown))
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(Purged, lambda event: self._begin() if event.report.deleted else None)
        self._subscriptions.add(EndpointRemoved, lambda _: self._begin() if self.endpoint_id is None else None)
        self._subscriptions.add(DeleteChanged, lambda event: self._begin() if event.state == "undone" else None)

    @property
    def total(self) -> Bar:
        """The sum of all bars."""
        return sum(self.bars, EMPTY_BAR)

    def total_of(self, times: TimeRange) -> Bar | None:
        """The sum over a time range; None if it does not begin and end at bar boundaries."""
        edges = self.axis.edges
        if times.start not in edges or times.end not in edges:
            return None
        return sum(self.bars[edges.index(times.start) : edges.index(times.end)], EMPTY_BAR)

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self.set_watched(False)
        self._subscriptions.end()

    def set_watched(self, on: bool) -> None:
        """Whether the chart is visible: then count and follow events."""
        if on != self._watched:
            self._watched = on
            if on:
                self._clock.start()
                self._begin()
            else:
                self._clock.stop()
                self._latest.stop()

    def show(self, endpoint_id: int | None, span: Span) -> None:
        """Count the requests of this endpoint, or of all (None), over this time span."""
        self.endpoint_id, self.span = endpoint_id, span
        self._clear()
        self.changed.emit()
        self._begin()

    def _clear(self) -> None:
        self._oldest = None
        self.axis = axis_of(self.span, now_us())
        self.bars = [EMPTY_BAR] * self.axis.bars

    def _begin(self, bars: Sequence[int] | None = None) -> None:
        """Count these bars, or all of an axis that begins with the oldest request."""
        if self._watched:
            self._counting = True
            self._latest.run(partial(self._count, bars))

    async def _count(self, bars: Sequence[int] | None) -> None:
        """Events in these bars meanwhile make them doubtful again."""
        self._counting = True  # not yet when it is read again after it failed
        with unless_cancelled(self._counted):
            if bars is None:
                self._oldest = await self._activity.oldest(self.endpoint_id)
                self._doubtful.clear()
                axis = axis_of(self.span, now_us(), self._oldest)
                if axis != self.axis:
                    self.axis, self.bars = axis, [EMPTY_BAR] * axis.bars
            stretches = [self.axis.edges] if bars is None else [self.axis.edges[bar : bar + 2] for bar in bars]
            found: dict[tuple[int, int], Bar] = {}
            with self._recount.paced():
                for edges in stretches:
                    counted = await self._activity.bars(self.endpoint_id, edges)
                    found.update(zip(pairwise(edges), counted, strict=True))
            places = pairwise(self.axis.edges)
            self.bars = [found.get(place, bar) for place, bar in zip(places, self.bars, strict=True)]
            self.changed.emit()

    def _counted(self) -> None:
        self._counting = False
        if self._doubtful:
            self._recount.call()

    @Slot()
    def _count_doubtful(self) -> None:
        if not self._counting:
            bars = {bar for at in self._doubtful if (bar := self.axis.bar_of(at)) is not None}
            self._doubtful.clear()
            if bars:
                self._begin(sorted(bars) if len(bars) <= FEW else None)

    @Slot()
    def _advance(self) -> None:
        """Time has passed: the bars move, and a new one begins."""
        axis = axis_of(self.span, now_us(), self._oldest)
        if axis.edges == self.axis.edges:
            return
        if axis.width_us != self.axis.width_us or axis.edges[0] < self.axis.edges[0]:
            if not self._counting:
                self._begin()
            return
        known = dict(zip(self.axis.edges, self.bars, strict=False))
        self.axis = axis
        self.bars = [known.get(edge, EMPTY_BAR) for edge in axis.edges[:-1]]
        self.changed.emit()

    def _captured(self, event: Captured) -> None:
        if not self._watched:
            return
        relevant = [item for item in event.summaries if self.endpoint_id in (None, item.endpoint_id)]
        if not relevant:
            return
        if self._oldest is None:
            self._oldest = min(item.received_at for item in relevant)
        if max(item.received_at for item in relevant) >= self.axis.edges[-1]:
            self._advance()
        plain = Counter(self.axis.bar_of(item.received_at) for item in relevant if item.complete)
        incomplete = Counter(self.axis.bar_of(item.received_at) for item in relevant if not item.complete)
        for bar in plain.keys() | incomplete.keys():
            if bar is not None:
                self.bars[bar] += Bar(plain=plain[bar], incomplete=incomplete[bar])
                if self._counting:
                    self._doubtful.add(self.axis.edges[bar])
        self._paint.call()

    def _delivered(self, event: DeliveryChanged) -> None:
        if event.state is DeliveryState.QUEUED:
            return  # It waits for its next attempt, and was not counted as delivered or failed before either.
        if self.endpoint_id in (None, event.delivery.endpoint_id):
            self._doubt((event.delivery.capture_id,))

    def _removed(self, event: RequestsRemoved) -> None:
        if self.endpoint_id not in (None, event.endpoint_id):
            return
        if event.ids is None:
            self._begin()
        else:
            self._doubt(event.ids)

    def _doubt(self, ids: Iterable[str]) -> None:
        """These requests are to be counted otherwise, or no longer."""
        if self._watched:
            bars = (self.axis.bar_of(uuid7_ms(name) * 1000) for name in ids)
            self._doubtful.update(self.axis.edges[bar] for bar in bars if bar is not None)
            self._recount.call()
