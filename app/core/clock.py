"""Time as stored, in whole microseconds of UTC, and as RFC 3339."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_US, LATEST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The beginning of the year 1 and the end of the year 9999, between which all times are."""
DAY_US = 86_400 * 1_000_000


def now_us() -> int:
    """Microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


def local_time(at_us: int, zone: tzinfo | None = None) -> datetime:
    """In `zone`, by default the local one."""
    return (EPOCH + timedelta(microseconds=at_us)).astimezone(zone)


def rfc3339(at_us: int) -> str:
    """`2026-11-20T09:00:00.000000Z`: UTC, always six decimals."""
    seconds, micros = divmod(at_us, 1_000_000)
    return f"{_to_the_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=64)
def _to_the_second(seconds: int) -> str:
    """Cached, because records that are written together are of few seconds. Not strftime, which writes the year 138
    with three digits on Linux."""
    return (EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def parse_rfc3339(text: str) -> int:
    """Microseconds of an RFC 3339 time; ValueError if it is invalid or has no offset."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; end it with Z")
    return microseconds(moment)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970-01-01 UTC."""
    return (moment - EPOCH) // timedelta(microseconds=1)
