"""Formats the times of the activity chart: ticks below the bars, and periods."""

from __future__ import annotations

from datetime import datetime, time, timedelta, tzinfo

from app.core.activity.axis import WIDTHS, Axis
from app.core.activity.local import MINUTE_US, local, since_epoch
from app.core.clock import DAY_US

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


def stretch_text(start_us: int, end_us: int, now_us: int, zone: tzinfo | None = None) -> str:
    """`12:04-12:20` (with an en dash), with the date unless it is today, without times for whole days."""
    start, end, today = (local(at, zone) for at in (start_us, end_us, now_us))
    last = local(end_us - 1, zone)
    if start.time() == time() == end.time() and end.date() > start.date():
        return _day(start) if last.date() == start.date() else f"{_day(start)} {DASH} {_day(last)}"
    if last.date() != start.date():
        return f"{_day(start)} {_clock(start)} {DASH} {_day(end)} {_clock(end)}"
    until = "24:00" if end.date() != start.date() else _clock(end)
    date = "" if start.date() == today.date() else f"{_day(start)} "
    return f"{date}{_clock(start)}{DASH}{until}"


def _round_times(axis: Axis, step: int, zone: tzinfo | None) -> list[int]:
    """The multiples of `step` on the local clock, or every few days."""
    wall = local(axis.edges[0], zone).replace(tzinfo=None)
    day, pace = datetime.combine(wall.date(), time()), timedelta(microseconds=step)
    if step >= DAY_US:
        day -= timedelta(days=day.toordinal() % pace.days)
    else:
        day += (wall - day) // pace * pace
    found: list[int] = []
    while not found or found[-1] < axis.edges[-1]:
        found.append(since_epoch(day, zone))
        day += pace
    return sorted({at for at in found if axis.edges[0] <= at < axis.edges[-1]})


def _tick_text(at_us: int, step: int, zone: tzinfo | None) -> str:
    moment = local(at_us, zone)
    if step >= DAY_US or moment.time() == time():
        return _day(moment)
    return f"{moment:%H:%M}" if step >= MINUTE_US else f"{moment:%H:%M:%S}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
