"""What a sender wrote cannot do anything to a terminal."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.output import KEPT, brief_time, visible, when_text
from app.core.clock import parse_rfc3339
from app.core.text import size_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 日本", "plain ünïcode 日本"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("two\r\nlines", r"two\x0d\x0alines"),
        ("\x9b1A", r"\x9b1A"),
        ("right\u202eleft", r"right\u202eleft"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_breaks_stay_where_they_may() -> None:
    assert visible("a\n\tb\x1b", KEPT) == "a\n\tb\\x1b"


@given(st.text())
def test_nothing_unprintable_is_left_and_nothing_printable_changes(text: str) -> None:
    assert visible(text).isprintable()
    assert not text.isprintable() or visible(text) == text


def test_times_are_shown_in_the_local_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(time, "tzset"):
        pytest.skip("the time zone cannot be set here")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert when_text(datetime(2026, 11, 20, 9, 0, 0, 123456, UTC)) == "2026-11-20 14:30:00"
        monkeypatch.setattr("app.cli.output.now_us", lambda: parse_rfc3339("2026-11-20T09:30:00Z"))
        assert brief_time("2026-11-20 14:30:00") == "14:30:00"
        assert brief_time("2026-11-19 14:30:00") == "11-19 14:30"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert when_text(None) == "-"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1.0 KiB"),
        (10_188, "9.9 KiB"),
        (10_189, "10 KiB"),
        (1_023_500, "1.0 MiB"),
        (104_857_600, "100 MiB"),
        (5_000_000_000_000, "4.5 TiB"),
    ],
)
def test_sizes_are_short(size: int, shown: str) -> None:
    assert size_text(size) == shown
