"""The latency histogram: bounded in memory, at most 5 % off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.replay_summary import Histogram

latencies = st.floats(0, 10_000_000)
DAY_MS = 24 * 3_600_000.0


def histogram(values: Sequence[float]) -> Histogram:
    made = Histogram()
    for ms in values:
        made.add(ms)
    return made


@given(st.lists(latencies, min_size=1, max_size=60), st.floats(0, 100))
def test_a_percentile_is_at_most_five_percent_off(values: list[float], percent: float) -> None:
    exact = sorted(values)[max(1, math.ceil(len(values) * percent / 100)) - 1]
    # Half a microsecond for rounding to whole ones.
    assert histogram(values).percentile(percent) == pytest.approx(exact, rel=0.05, abs=0.0006)


@given(st.lists(latencies, min_size=1, max_size=60))
def test_rows_follow_one_another_and_count_every_latency_once(values: list[float]) -> None:
    values = [round(ms, 3) for ms in values]
    rows = histogram(values).rows()
    assert sum(row.count for row in rows) == len(values)
    assert all(before.to_ms == after.from_ms for before, after in pairwise(rows))
    assert rows[0].count
    assert rows[-1].count
    for row in rows:
        assert row.count == sum(row.from_ms <= ms < row.to_ms for ms in values)


def test_memory_is_bounded_whatever_is_measured() -> None:
    made = histogram([1.007**power / 1_000 for power in range(5_000)])
    assert made.count == 5_000
    assert len(made._counts) < 1_800
    assert made.longest_ms == DAY_MS
    assert made.percentile(100) == DAY_MS


def test_an_empty_histogram_has_no_rows() -> None:
    empty = Histogram()
    assert (empty.count, empty.percentile(99), empty.mean_ms, empty.rows()) == (0, 0.0, 0.0, [])
    assert empty.text() == "No latencies.\n"


@pytest.mark.parametrize("ms", [-0.1, math.nan, math.inf])
def test_what_is_no_latency_is_refused(ms: float) -> None:
    with pytest.raises(ValueError, match="not a latency"):
        Histogram().add(ms)


def test_the_text_has_a_bar_for_each_row() -> None:
    made = histogram([0.3] * 4 + [1.5] * 40 + [12.0, 1_200.0])
    assert made.text() == BARS


BARS = """\
46 latencies: p50 1.5 ms, p90 1.5 ms, p95 1.5 ms, p99 1.2 s, max 1.2 s
      0.2 to 0.5 ms   4  ####
        0.5 to 1 ms   0
          1 to 2 ms  40  ########################################
          2 to 5 ms   0
         5 to 10 ms   0
        10 to 20 ms   1  #
        20 to 50 ms   0
       50 to 100 ms   0
      100 to 200 ms   0
      200 to 500 ms   0
    500 to 1,000 ms   0
  1,000 to 2,000 ms   1  #
"""
