"""The activity chart: the time axis cut into bars, what a bar counts, and the labels of times and periods."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, time, timedelta, tzinfo
from enum import StrEnum

from app.core.clock import DAY_US, local_time, microseconds
from app.core.record import Record
from app.core.text import count_of

_SECOND_US = 1_000_000
_MINUTE_US = 60 * _SECOND_US


def _since_epoch(moment: datetime, zone: tzinfo | None) -> int:
    """From a local date and time without a zone."""
    return microseconds(moment.replace(tzinfo=zone) if zone is not None else moment.astimezone())


BARS_MAX = 120
SHORTEST_US = 60 * _SECOND_US
"""The shortest period shown."""

_HOUR_US = 60 * _MINUTE_US
WIDTHS = (
    *(n * _SECOND_US for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE_US for n in (1, 2, 5, 10, 15, 30)),
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


_FIXED = {Span.HOUR: (_MINUTE_US, 60), Span.DAY: (15 * _MINUTE_US, 96), Span.WEEK: (2 * _HOUR_US, 84)}


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
    begin = min(now_us - SHORTEST_US, now_us if oldest_us is None else oldest_us)
    for width in WIDTHS:
        if width >= DAY_US:
            axis = _days(begin, now_us, width, zone)
        else:
            end = _floor(now_us, width, zone) + width
            bars = min(-((begin - end) // width), BARS_MAX + 1)  # one more than fit leads to the next width
            axis = _even(now_us, width, bars, zone)
        if axis.bars <= BARS_MAX:
            break
    return axis


def _even(now_us: int, width: int, bars: int, zone: tzinfo | None) -> Axis:
    """Bars of exactly `width`."""
    end = _floor(now_us, width, zone) + width
    return Axis(edges=tuple(range(end - bars * width, end + 1, width)), width_us=width)


def _floor(at_us: int, width: int, zone: tzinfo | None) -> int:
    """The last multiple of `width` on the local clock."""
    ahead = (local_time(at_us, zone).utcoffset() or timedelta()) // timedelta(microseconds=1)
    return (at_us + ahead) // width * width - ahead


def _days(begin_us: int, now_us: int, width: int, zone: tzinfo | None) -> Axis:
    """Bars of whole local days, from midnight to midnight."""
    step = timedelta(days=width // DAY_US)
    day = datetime.combine(local_time(now_us, zone).date(), datetime.min.time()) + timedelta(days=1)
    edges = [_since_epoch(day, zone)]
    while edges[-1] > begin_us and len(edges) <= BARS_MAX + 1:
        day -= step
        edges.append(_since_epoch(day, zone))
    return Axis(edges=tuple(reversed(edges)), width_us=width)


class Bar(Record, frozen=True):
    """Requests of one period. `plain` counts those not forwarded, or not yet."""

    plain: int = 0
    delivered: int = 0
    not_sent: int = 0
    failed: int = 0
    incomplete: int = 0

    @property
    def total(self) -> int:
        return self.plain + self.delivered + self.not_sent + self.failed + self.incomplete

    def __add__(self, other: Bar) -> Bar:
        return Bar(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def text(self) -> str:
        """`37 requests, 2 with failed deliveries`: only problems are listed separately."""
        parts = [count_of(self.total, "request") if self.total else "no requests"]
        if self.failed:
            parts.append(f"{self.failed:,} with failed deliveries")
        if self.not_sent:
            parts.append(f"{self.not_sent:,} with deliveries not sent")
        if self.incomplete:
            parts.append(f"{self.incomplete:,} incomplete")
        return ", ".join(parts)


EMPTY_BAR = Bar()

DASH = "\u2013"

Tick = tuple[int, str]
"""A time and its text."""


def ticks(axis: Axis, at_most: int, zone: tzinfo | None = None) -> list[Tick]:
    """Round local times of the axis, oldest first, no more than fit."""
    for step in WIDTHS:
        if step < axis.width_us or (axis.edges[-1] - axis.edges[0]) // step > at_most + 1:
            continue
        found = [(at, _tick_text(at, step, zone)) for at in _round_times(axis, step, zone)]
        if len(found) <= at_most:
            return found
    return []


def period_text(start_us: int, end_us: int, now_us: int, zone: tzinfo | None = None) -> str:
    """`12:04-12:20` (with an en dash), with the date unless it is today, without times for whole days."""
    start, end, today = (local_time(at, zone) for at in (start_us, end_us, now_us))
    last = local_time(end_us - 1, zone)
    if start.time() == time() == end.time() and end.date() > start.date():
        return _day(start) if last.date() == start.date() else f"{_day(start)} {DASH} {_day(last)}"
    if last.date() != start.date():
        return f"{_day(start)} {_clock(start)} {DASH} {_day(end)} {_clock(end)}"
    until = "24:00" if end.date() != start.date() else _clock(end)
    date = "" if start.date() == today.date() else f"{_day(start)} "
    return f"{date}{_clock(start)}{DASH}{until}"


def _round_times(axis: Axis, step: int, zone: tzinfo | None) -> list[int]:
    """The multiples of `step` on the local clock, or every few days."""
    wall = local_time(axis.edges[0], zone).replace(tzinfo=None)
    day, interval = datetime.combine(wall.date(), time()), timedelta(microseconds=step)
    if step >= DAY_US:
        day -= timedelta(days=day.toordinal() % interval.days)
    else:
        day += (wall - day) // interval * interval
    found: list[int] = []
    while not found or found[-1] < axis.edges[-1]:
        found.append(_since_epoch(day, zone))
        day += interval
    return sorted({at for at in found if axis.edges[0] <= at < axis.edges[-1]})


def _tick_text(at_us: int, step: int, zone: tzinfo | None) -> str:
    moment = local_time(at_us, zone)
    if step >= DAY_US or moment.time() == time():
        return _day(moment)
    return f"{moment:%H:%M}" if step >= _MINUTE_US else f"{moment:%H:%M:%S}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
