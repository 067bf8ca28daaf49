"""How long a response asks to wait before the next attempt (`Retry-After`, RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re

from app.core.http_date import parse_http_date
from app.core.record import Headers, Record

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
