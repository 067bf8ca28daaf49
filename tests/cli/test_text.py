"""What a sender wrote cannot do anything to a terminal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.tail import format_tail
from app.cli.text import KEPT, brief_time, visible, when_text
from app.core.clock import parse_rfc3339
from app.core.text import size_text
from tests.factories import capture


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
        assert when_text("2026-11-20T09:00:00.123456Z") == "2026-11-20 14:30:00"
        monkeypatch.setattr("app.cli.text.now_us", lambda: parse_rfc3339("2026-11-20T09:30:00Z"))
        assert brief_time("2026-11-20 14:30:00") == "14:30:00"
        assert brief_time("2026-11-19 14:30:00") == "11-19 14:30"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert when_text(None) == "-"


def test_a_tail_line_names_what_arrived() -> None:
    summary = capture(b"x" * 2048, target="/catch/orders/new?x=1", method="PUT").summary()
    line = format_tail(summary, "orders")
    assert line[8:] == "  orders  PUT      /new?x=1  2.0 KiB  application/json"
    told = capture(b"x" * 2048, target="/catch/orders", method="PUT", gist="JSON · id").summary()
    assert format_tail(told, "orders")[8:] == "  orders  PUT      JSON · id  /  2.0 KiB  application/json"
    known = capture(target="/catch/orders", provider="stripe", event="invoice.paid", gist="JSON · id").summary()
    assert format_tail(known, "orders")[8:].startswith("  orders  POST     stripe  invoice.paid  /  ")


def test_a_tail_line_tells_of_a_sender_that_broke_off_and_escapes_what_it_wrote() -> None:
    summary = capture(complete=False, content_type="a\x1b[2Jb", target="/catch/orders").summary()
    line = format_tail(summary, "orders")
    assert line.isprintable()
    assert "a\\x1b[2Jb" in line
    assert line.endswith("(incomplete: the sender disconnected)")


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
