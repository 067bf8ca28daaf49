"""The time axis: a period cut into bars, chosen by what the user wants to see."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from app.core.activity.local import MINUTE_US, SECOND_US, local, offset_us, since_epoch
from app.core.clock import DAY_US
from app.core.model import Record

MOST_BARS = 120
LEAST_US = 60 * SECOND_US
"""The shortest period shown."""

_HOUR_US = 60 * MINUTE_US
WIDTHS = (
    *(n * SECOND_US for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE_US for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR_US for n in (1, 2, 3, 4, 6, 12)),
    *(n * DAY_US for n in (1, 2, 7, 14, 28, 91, 364)),
)
"""Widths of a bar that are easy to read."""


class Span(StrEnum):
    """The periods that the user can choose."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    ALL = "all"


_FIXED = {Span.HOUR: (MINUTE_US, 60), Span.DAY: (15 * MINUTE_US, 96), Span.WEEK: (2 * _HOUR_US, 84)}


class Axis(Record, frozen=True):
    """Bar `n` is the time from `edges[n]` up to, not including, `edges[n + 1]`. All bars are drawn equally wide.

    `width_us` is the nominal width of a bar; a day on which the clocks change is an hour longer or shorter.
    """

    edges: tuple[int, ...]
    width_us: int

    @property
    def bars(self) -> int:
        return len(self.edges) - 1

    def bar_of(self, at_us: int) -> int | None:
        """The bar that contains this time; None outside the axis."""
        if not self.edges[0] <= at_us < self.edges[-1]:
            return None
        return bisect_right(self.edges, at_us) - 1

    def bar_at(self, x: float, width: float) -> int:
        """The bar drawn at `x` of `width` pixels; the nearest one outside the axis."""
        return max(0, min(self.bars - 1, int(x * self.bars // width) if width > 0 else 0))

    def place(self, at_us: int) -> float:
        """From 0 (the left edge) to 1 (the right edge)."""
        inside = min(max(at_us, self.edges[0]), self.edges[-1])
        bar = min(bisect_right(self.edges, inside) - 1, self.bars - 1)
        left, right = self.edges[bar], self.edges[bar + 1]
        return (bar + (inside - left) / (right - left)) / self.bars

    def between(self, one: int, other: int) -> tuple[int, int]:
        """From bar `one` through bar `other`, in either order."""
        first, last = sorted((one, other))
        return self.edges[first], self.edges[last + 1]


def axis_of(span: Span, now_us: int, oldest_us: int | None = None, zone: tzinfo | None = None) -> Axis:
    """The axis that ends with the bar of `now_us`, cut at round local times.

    `oldest_us` is the time of the oldest request, where Span.ALL begins. `zone` None is the local time zone.
    """
    if span is not Span.ALL:
        width, bars = _FIXED[span]
        return _even(now_us, width, bars, zone)
    begin = min(now_us - LEAST_US, now_us if oldest_us is None else oldest_us)
    for width in WIDTHS:
        if width >= DAY_US:
            axis = _days(begin, now_us, width, zone)
        else:
            axis = _even(now_us, width, _needed(begin, now_us, width, zone), zone)
        if axis.bars <= MOST_BARS:
            break
    return axis


def _even(now_us: int, width: int, bars: int, zone: tzinfo | None) -> Axis:
    """Bars of exactly `width`."""
    end = _floor(now_us, width, zone) + width
    return Axis(edges=tuple(range(end - bars * width, end + 1, width)), width_us=width)


def _needed(begin_us: int, now_us: int, width: int, zone: tzinfo | None) -> int:
    """How many bars reach from now back to `begin_us`, capped at one more than is allowed."""
    end = _floor(now_us, width, zone) + width
    return min(-((begin_us - end) // width), MOST_BARS + 1)


def _floor(at_us: int, width: int, zone: tzinfo | None) -> int:
    ahead = offset_us(at_us, zone)
    return (at_us + ahead) // width * width - ahead


def _days(begin_us: int, now_us: int, width: int, zone: tzinfo | None) -> Axis:
    """Bars of whole local days, from midnight to midnight."""
    step = timedelta(days=width // DAY_US)
    day = datetime.combine(local(now_us, zone).date(), datetime.min.time()) + timedelta(days=1)
    edges = [since_epoch(day, zone)]
    while edges[-1] > begin_us and len(edges) <= MOST_BARS + 1:
        day -= step
        edges.append(since_epoch(day, zone))
    return Axis(edges=tuple(reversed(edges)), width_us=width)
