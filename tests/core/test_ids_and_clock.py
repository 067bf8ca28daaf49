"""Ids sort by the time they carry; times keep their microseconds."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import now_us, parse_rfc3339, rfc3339
from app.core.ids import uuid7

TIMES = st.integers(min_value=0, max_value=4_102_444_800_000_000)


@given(TIMES, TIMES)
def test_ids_sort_as_their_times_do(first: int, second: int) -> None:
    if first != second:
        assert (uuid7(first) < uuid7(second)) == (first < second)


@given(TIMES)
def test_an_id_is_a_uuid_of_version_7_holding_its_milliseconds(at: int) -> None:
    value = uuid.UUID(uuid7(at))
    assert value.version == 7
    assert value.variant == uuid.RFC_4122
    assert value.int >> 80 == at // 1000


def test_ids_of_one_microsecond_differ() -> None:
    at = now_us()
    assert len({uuid7(at) for _ in range(10_000)}) == 10_000


@given(TIMES)
def test_rfc3339_keeps_every_microsecond(at: int) -> None:
    text = rfc3339(at)
    assert text.endswith("Z")
    assert len(text) == 27
    assert parse_rfc3339(text) == at


def test_rfc3339_has_four_digits_for_every_year() -> None:
    assert rfc3339(parse_rfc3339("0138-04-06T17:39:16Z")) == "0138-04-06T17:39:16.000000Z"
    assert rfc3339(0) == "1970-01-01T00:00:00.000000Z"


def test_a_time_without_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        parse_rfc3339("2026-11-20T09:00:00")
