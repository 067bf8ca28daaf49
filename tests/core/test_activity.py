"""The time axis and its words, in any zone."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.activity import BARS_MAX, Axis, Bar, Span, axis_of, period_text, ticks
from app.core.clock import DAY_US
from app.core.ids import first_id, uuid7, uuid7_ms

BERLIN, KATHMANDU = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu")
ZONES = st.sampled_from([UTC, BERLIN, KATHMANDU, ZoneInfo("America/St_Johns"), ZoneInfo("Pacific/Apia")])
TIMES = st.integers(1_500_000_000_000_000, 2_000_000_000_000_000)


def at(text: str, zone: ZoneInfo = BERLIN) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) * 1_000_000


@given(st.sampled_from(Span), TIMES, st.integers(0, 400 * DAY_US), ZONES)
def test_the_axis_holds_now_and_what_was_asked_for(span: Span, now: int, back: int, zone: ZoneInfo) -> None:
    axis = axis_of(span, now, now - back, zone)
    assert 1 <= axis.bars <= BARS_MAX
    assert list(axis.edges) == sorted(set(axis.edges))
    assert axis.edges[-2] <= now < axis.edges[-1]
    assert all(edge % 1_000_000 == 0 for edge in axis.edges)
    least = {Span.HOUR: DAY_US // 24, Span.DAY: DAY_US, Span.WEEK: 7 * DAY_US, Span.ALL: back}[span]
    assert axis.edges[0] <= now - least + axis.width_us
    if span is Span.ALL:
        assert axis.edges[0] <= now - back


@given(st.sampled_from(Span), TIMES, st.integers(0, 100 * DAY_US), ZONES, st.integers(1, 2_000))
def test_pixels_times_and_bars_agree(span: Span, now: int, back: int, zone: ZoneInfo, width: int) -> None:
    axis = axis_of(span, now, now - back, zone)
    for number in range(axis.bars):
        middle = (number + 0.5) * width / axis.bars
        assert axis.bar_at(middle, width) == number
        assert axis.bar_of(axis.edges[number]) == axis.bar_of(axis.edges[number + 1] - 1) == number
        assert axis.place(axis.edges[number]) == pytest.approx(number / axis.bars)
    assert axis.bar_at(-5, width) == 0
    assert axis.bar_at(width + 5, width) == axis.bars - 1
    assert axis.bar_of(axis.edges[0] - 1) is None
    assert axis.bar_of(axis.edges[-1]) is None
    assert axis.place(axis.edges[-1] + 7) == 1
    assert axis.between(axis.bars - 1, 0) == (axis.edges[0], axis.edges[-1])


@given(st.sampled_from(Span), TIMES, st.integers(0, 100 * DAY_US), ZONES, st.integers(2, 20))
def test_ticks_are_few_rising_and_inside(span: Span, now: int, back: int, zone: ZoneInfo, most: int) -> None:
    axis = axis_of(span, now, now - back, zone)
    found = ticks(axis, most, zone)
    assert len(found) <= most
    assert [when for when, _ in found] == sorted({when for when, _ in found})
    assert all(axis.edges[0] <= when < axis.edges[-1] for when, _ in found)


def test_ticks_are_round_local_times() -> None:
    axis = axis_of(Span.HOUR, at("2026-11-20T12:34:56"), zone=BERLIN)
    assert [text for _, text in ticks(axis, 5, BERLIN)] == ["11:45", "12:00", "12:15", "12:30"]
    week = axis_of(Span.WEEK, at("2026-11-20T12:34:56"), zone=BERLIN)
    assert [text for _, text in ticks(week, 7, BERLIN)] == [f"{day} Nov" for day in range(14, 21)]
    odd = axis_of(Span.DAY, at("2026-11-20T12:34:56", KATHMANDU), zone=KATHMANDU)
    assert [text for _, text in ticks(odd, 4, KATHMANDU)] == ["18:00", "20 Nov", "06:00", "12:00"]


MINUTE = 60_000_000


def test_a_round_time_at_the_left_edge_has_a_tick() -> None:
    noon = at("2026-11-20T12:00:00")
    axis = Axis(edges=tuple(range(noon, noon + 61 * MINUTE, MINUTE)), width_us=MINUTE)
    assert ticks(axis, 5, BERLIN)[0] == (noon, "12:00")


def test_a_time_is_placed_within_its_bar_however_long_that_is() -> None:
    assert Axis(edges=(0, 10, 30, 40), width_us=10).place(15) == pytest.approx((1 + 5 / 20) / 3)


def test_there_are_ticks_on_the_day_the_clocks_go_back() -> None:
    axis = axis_of(Span.HOUR, at("2026-10-25T20:34:56"), zone=BERLIN)
    assert [text for _, text in ticks(axis, 5, BERLIN)] == ["19:45", "20:00", "20:15", "20:30"]


def test_days_on_which_the_clocks_change_are_whole_days() -> None:
    now = at("2026-04-02T12:00:00")
    axis = axis_of(Span.ALL, now, at("2026-01-01T00:00:00"), BERLIN)
    lengths = {right - left for left, right in pairwise(axis.edges)}
    assert lengths == {DAY_US, DAY_US // 24 * 23}
    assert axis.edges[0] == at("2026-01-01T00:00:00")


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ("2026-11-20T12:04:00", "2026-11-20T12:20:00", "12:04\u201312:20"),
        ("2026-11-20T12:04:05", "2026-11-20T12:04:06", "12:04:05\u201312:04:06"),
        ("2026-11-20T22:00:00", "2026-11-21T00:00:00", "22:00\u201324:00"),
        ("2026-11-19T22:00:00", "2026-11-20T02:00:00", "19 Nov 22:00 \u2013 20 Nov 02:00"),
        ("2026-11-19T12:00:00", "2026-11-19T12:15:00", "19 Nov 12:00\u201312:15"),
        ("2026-11-19T00:00:00", "2026-11-20T00:00:00", "19 Nov"),
        ("2026-11-18T00:00:00", "2026-11-20T00:00:00", "18 Nov \u2013 19 Nov"),
    ],
)
def test_stretches_are_told_as_people_do(start: str, end: str, text: str) -> None:
    assert period_text(at(start), at(end), at("2026-11-20T13:00:00"), BERLIN) == text


def test_a_bar_tells_what_is_not_as_it_should_be() -> None:
    assert Bar().text() == "no requests"
    assert Bar(plain=1).text() == "1 request"
    counted = Bar(plain=30, delivered=1200) + Bar(failed=2, incomplete=1)
    assert counted.total == 1233
    assert counted.text() == "1,233 requests, 2 with failed deliveries, 1 incomplete"


@given(TIMES, TIMES)
def test_the_floor_of_a_time_divides_ids(one: int, other: int) -> None:
    assert (uuid7(one) < first_id(other)) == (one < other)
    assert uuid7_ms(uuid7(one)) == one // 1000
