"""Ages, times and media types in few characters."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from app.core.bodies.media_types import type_hint
from app.core.text import ago_text, ms_text, source_text, time_text

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("passed", "text"),
    [(-5, "now"), (0, "now"), (9, "9s"), (59, "59s"), (60, "1m"), (7199, "1h"), (86_399, "23h"), (6 * 86_400, "6d")],
)
def test_ages(passed: int, text: str) -> None:
    assert ago_text(10**15, 10**15 + passed * SECOND) == text


def test_an_old_age_is_a_date() -> None:
    assert ago_text(0, 10**15) == "1 Jan"


def test_times_name_their_offset() -> None:
    assert time_text(1) == "1970-01-01 00:00:00.000001 UTC"
    assert time_text(0, timezone(timedelta(hours=-3, minutes=-30))) == "1969-12-31 20:30:00.000000 -03:30"


def test_durations() -> None:
    assert [ms_text(ms) for ms in (0.81, 9.94, 10.4, 12.4, 999, 1000, 1500)] == [
        *("0.8 ms", "9.9 ms", "10 ms", "12 ms", "999 ms", "1.0 s", "1.5 s")
    ]


@pytest.mark.parametrize(
    ("content_type", "word"),
    [
        ("application/json; charset=utf-8", "JSON"),
        ("application/vnd.api+json", "JSON"),
        ("image/png", "Image"),
        ("application/x-www-form-urlencoded", "Form"),
        ("application/x-protobuf", "Protobuf"),
        ("application/yaml", "YAML"),
        ("application/sql", "SQL"),
        ("application/graphql", "GraphQL"),
        ("text/javascript; charset=utf-8", "JavaScript"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_words_for_types(content_type: str, word: str) -> None:
    assert type_hint(content_type) == word


def test_a_source_without_a_port_is_an_address_alone() -> None:
    assert source_text("203.0.113.7", 4711) == "203.0.113.7 port 4711"
    assert source_text("203.0.113.7", 0) == "203.0.113.7"
