"""Numbers are recognised as times by their digits, range and name."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from app.core.bodies.values import UnixTime, describe, unix_time

AT = 1_700_000_000


@pytest.mark.parametrize(
    ("text", "unit", "us"),
    [
        (f"{AT}", "seconds", AT * 1_000_000),
        (f"{AT}123", "milliseconds", AT * 1_000_000 + 123_000),
        (f"{AT}123456", "microseconds", AT * 1_000_000 + 123_456),
        (f"{AT}123456789", "nanoseconds", AT * 1_000_000 + 123_456),
        (f"{AT}.25", "seconds", AT * 1_000_000 + 250_000),
    ],
)
def test_the_digits_tell_the_unit(text: str, unit: str, us: int) -> None:
    assert unix_time(text, "created_at") == UnixTime(us, unit)


@pytest.mark.parametrize(
    ("text", "name", "quoted", "likely"),
    [
        ("1700000000", "", False, True),
        ("1700000000", "", True, False),
        ("1700000000", "createdAt", True, True),
        ("1700000000", "X-Slack-Request-Timestamp", True, True),
        ("1700000000", "exp", False, True),
        ("1700000000", "phoneNumber", False, False),
        ("1700000000", "customer_id", False, False),
        ("1700000000000", "order_id", False, False),
        ("1700000000000", "", True, True),
        ("1234567890", "", False, False),
        ("1234567890", "started_at", False, True),
        ("4006381333931", "ean", True, False),
        ("20261122", "date", False, False),
        ("4102444800", "at", False, False),
        ("0999999999", "at", False, False),
        ("17000000000", "at", False, False),
        ("1700000000000.5", "at", False, False),
        ("-1700000000", "at", False, False),
        ("1.7e9", "at", False, False),
    ],
)
def test_a_time_is_told_only_where_it_is_likely(text: str, name: str, quoted: bool, likely: bool) -> None:
    assert (unix_time(text, name, quoted=quoted) is not None) is likely


def test_both_local_time_and_utc_are_told() -> None:
    zone = timezone(timedelta(hours=-3, minutes=-30))
    assert describe(UnixTime(AT * 1_000_000, "seconds"), zone).split("\n") == [
        "Unix time in seconds",
        "2023-11-14 18:43:20 local time (UTC-03:30)",
        "2023-11-14 22:13:20 UTC",
    ]
    assert describe(UnixTime(AT * 1_000_000 + 5_000, "milliseconds"), zone).endswith("2023-11-14 22:13:20.005 UTC")
