"""Points in time in filters: how long ago, a day, a time; local unless an offset is given."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from app.core.clock import EPOCH
from app.core.search.query import QueryError, TimePoint
from app.core.search.tokens import Text

_AGO = re.compile(r"([0-9]{1,6})(s|min|m|h|d|w)", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_BACK = {"today": 0, "yesterday": 1}
_FULL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,6})?)?.{0,6})?", re.ASCII)


def read_moment(value: Text) -> TimePoint:
    """`90s`, `15m`, `2h`, `3d`, `1w` ago; `today`, `yesterday`, `2026-11-01` at 00:00; `2026-11-01T09:30[:00][Z]`."""
    text = value.characters
    ago = _AGO.fullmatch(text)
    if ago:
        return TimePoint(at=None, ago=int(ago[1]) * _SECONDS[ago[2].lower()] * 1_000_000)
    at = _calendar_time(text)
    if at is None:
        forms = "how long ago (15m, 2h, 3d), a day (2026-11-01) or a time (2026-11-01T09:30)"
        raise QueryError(f"“{text}” is not a time: write {forms}.", value.start, value.end)
    return TimePoint(at=at)


def _calendar_time(text: str) -> int | None:
    """In µs since the epoch; None for an invalid day, or one outside the range of the system's calendar."""
    try:
        if text.lower() in _DAYS_BACK:
            day = datetime.now().astimezone().date() - timedelta(days=_DAYS_BACK[text.lower()])
            return _us(datetime.fromisoformat(day.isoformat()))
        if _FULL.fullmatch(text):
            return _us(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError, OSError):  # OSError: astimezone() on Windows, before 1970
        return None
    return None


def _us(moment: datetime) -> int:
    return (moment.astimezone() - EPOCH) // timedelta(microseconds=1)
