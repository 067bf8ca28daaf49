"""How long a response asks to wait before the next attempt (`Retry-After`, RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from app.core.clock import EPOCH
from app.core.record import Headers, Record
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


_SECONDS = re.compile(r"0*([0-9]+)", re.ASCII)
_DIGITS_MAX = 9
"""More digits are read as this many nines: over 31 years."""


class RetryAfter(Record, frozen=True):
    """`text` is the header's value, `wait_us` counts from the response."""

    text: str
    wait_us: int


def retry_after(headers: Headers, now_us: int) -> RetryAfter | None:
    """The longest valid `Retry-After`; None without one.

    A date is taken relative to the response's own `Date`: what it means is a duration on the target's clock, which can
    differ from this computer's (containers, virtual machines). Without a valid `Date` it is relative to `now_us`.
    """
    sent_at = next(
        (at for value in _values(headers, "date") if (at := parse_http_date(value, now_us)) is not None), now_us
    )
    found = (_parsed(value, sent_at, now_us) for value in _values(headers, "retry-after"))
    return max((each for each in found if each), key=lambda each: each.wait_us, default=None)


def _values(headers: Headers, lower_name: str) -> list[str]:
    return [value.strip(" \t") for name, value in headers if name.lower() == lower_name]


def _parsed(value: str, sent_at: int, now_us: int) -> RetryAfter | None:
    seconds = _SECONDS.fullmatch(value)
    if seconds:
        digits = seconds[1] if len(seconds[1]) <= _DIGITS_MAX else "9" * _DIGITS_MAX
        return RetryAfter(text=digits, wait_us=int(digits) * 1_000_000)
    at = parse_http_date(value, now_us)
    return None if at is None else RetryAfter(text=value, wait_us=max(0, at - sent_at))
