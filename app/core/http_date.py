"""Parses the dates of HTTP headers (RFC 9110, section 5.6.7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from app.core.clock import EPOCH
from app.core.text import MONTHS

_DAYS, _MONTHS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun", "|".join(MONTHS)
_LONG_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    re.compile(f"(?:{_DAYS}), (?P<day>[0-9]{{2}}) (?P<month>{_MONTHS}) (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(f"(?:{_LONG_DAYS}), (?P<day>[0-9]{{2}})-(?P<month>{_MONTHS})-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(f"(?:{_DAYS}) (?P<month>{_MONTHS}) (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_LATEST = 50
"""A two-digit year that seems to be more years ahead than this is one of the past."""


def parse_http_date(text: str, now_us: int) -> int | None:
    """Microseconds of a date in any of the three formats; None if it is invalid. The day of the week is not checked."""
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
    try:
        moment = datetime(
            _year(found["year"], now_us),
            MONTHS.index(found["month"]) + 1,
            day,
            hour,
            minute,
            min(second, 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    if second > 60:
        return None
    return (moment - EPOCH) // timedelta(microseconds=1) + (1_000_000 if second == 60 else 0)


def _year(digits: str, now_us: int) -> int:
    if len(digits) == 4:
        return int(digits)
    this_year = (EPOCH + timedelta(microseconds=now_us)).year
    year = this_year - this_year % 100 + int(digits)
    return year - 100 if year > this_year + _LATEST else year
