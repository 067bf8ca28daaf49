"""Converts microseconds to local time and back, for any zone; None is the local one."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from app.core.clock import EPOCH

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


def local(at_us: int, zone: tzinfo | None) -> datetime:
    return (EPOCH + timedelta(microseconds=at_us)).astimezone(zone)


def offset_us(at_us: int, zone: tzinfo | None) -> int:
    """How far local time is ahead of UTC at this time."""
    offset = local(at_us, zone).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


def since_epoch(moment: datetime, zone: tzinfo | None) -> int:
    """From a local date and time without a zone."""
    aware = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
    return (aware - EPOCH) // timedelta(microseconds=1)
