"""Times of arrival as people name them: by the day, and in full."""

from __future__ import annotations

import locale
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from app.core.text import ago_text, day_text, day_time, exact_time, full_time, time_text


def us(*parts: int) -> int:
    """A local time in microseconds of UTC."""
    return round(datetime(*parts).astimezone().timestamp()) * 1_000_000  # type: ignore[arg-type,misc]


NOW = us(2026, 11, 22, 10, 43, 20)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (us(2026, 11, 22, 2, 4, 32) + 505_999, "Today 02:04:32.505"),
        (us(2026, 11, 22, 0, 0, 0), "Today 00:00:00.000"),
        (us(2026, 11, 21, 23, 59, 59) + 999_999, "Yesterday 23:59:59.999"),
        (us(2026, 11, 20, 23, 59, 1) + 120_000, "20 Nov 23:59:01.120"),
        (us(2026, 1, 1, 0, 0, 0), "1 Jan 00:00:00.000"),
        (us(2025, 12, 31, 12, 0, 0), "31 Dec 2025 12:00:00.000"),
        (us(2026, 11, 23, 1, 0, 0), "23 Nov 01:00:00.000"),  # a clock that was set back
        (us(2027, 1, 1, 1, 0, 0), "1 Jan 2027 01:00:00.000"),
    ],
)
def test_the_day_is_named(at: int, words: str) -> None:
    assert day_time(at, NOW) == words


def test_new_year_has_a_yesterday() -> None:
    assert day_text(us(2025, 12, 31, 23, 0, 0), us(2026, 1, 1, 0, 1, 0)) == "Yesterday"


def test_the_full_time_has_microseconds_zone_and_utc() -> None:
    at = us(2026, 11, 22, 2, 4, 32) + 505_123
    local, utc = full_time(at).split("\n")
    moment = datetime.fromtimestamp(at // 1_000_000, UTC)
    offset = f"{moment.astimezone():%z}"
    assert local.startswith(f"2026-11-22 02:04:32.505123 {offset[:3]}:{offset[3:]}")
    assert utc == f"{moment:%Y-%m-%d %H:%M:%S}.505123 UTC"


def test_all_times_spell_the_offset_alike() -> None:
    at = us(2026, 11, 22, 2, 4, 32) + 505_123
    local = time_text(at, None)
    assert exact_time(at) == local.replace("505123", "505")
    assert full_time(at).startswith(local)


def test_months_do_not_follow_the_locale_that_qt_sets() -> None:
    before = locale.setlocale(locale.LC_TIME)
    installed = []
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        with suppress(locale.Error):  # not installed
            locale.setlocale(locale.LC_TIME, name)
            installed.append(name)
        try:
            assert day_text(us(2026, 3, 5, 1, 0, 0), NOW) == "5 Mar"
            assert ago_text(0, 10**15) == "1 Jan"
        finally:
            locale.setlocale(locale.LC_TIME, before)
    if not installed:
        pytest.skip("no locale with other names of months is installed")
