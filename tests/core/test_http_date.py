"""Dates of HTTP headers: the three formats of RFC 9110, and what is none of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import EPOCH, parse_rfc3339
from app.core.retry import parse_http_date

NOW = parse_rfc3339("2026-11-22T12:00:00Z")
EXAMPLE = parse_rfc3339("1994-11-06T08:49:37Z")


@pytest.mark.parametrize(
    "text",
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"],
)
def test_the_three_formats_of_the_standard_are_one_moment(text: str) -> None:
    assert parse_http_date(text, NOW) == EXAMPLE


def test_a_two_digit_year_is_at_most_fifty_years_ahead() -> None:
    assert parse_http_date("Sunday, 22-Nov-76 12:00:00 GMT", NOW) == parse_rfc3339("2076-11-22T12:00:00Z")
    assert parse_http_date("Sunday, 22-Nov-77 12:00:00 GMT", NOW) == parse_rfc3339("1977-11-22T12:00:00Z")


def test_a_leap_second_is_the_next_minute() -> None:
    assert parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", NOW) == parse_rfc3339("2017-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "tomorrow",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 31 Feb 2026 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "2026-11-22T12:00:00Z",
        "Sun, 06 Nov 1994 08:49:37 GMT\n",
        "Sun, 06 Nov 1994 0\xb2:49:37 GMT",
    ],
)
def test_anything_else_is_no_date(text: str) -> None:
    assert parse_http_date(text, NOW) is None


@given(st.integers(0, 8_000_000_000))
def test_every_date_is_read_as_python_writes_it(seconds: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    assert parse_http_date(format_datetime(moment, usegmt=True), NOW) == (moment - EPOCH) // timedelta(microseconds=1)


@given(st.text(max_size=60))
def test_no_text_is_an_error(text: str) -> None:
    parse_http_date(text, NOW)
