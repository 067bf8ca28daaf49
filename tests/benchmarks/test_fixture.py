"""The fixture's benchmark, small: what it compares runs with both, and no request is missed."""

from __future__ import annotations

import pytest

from benchmarks.fixture import measure_many, measure_start, measure_tests

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_both_fixtures_do_the_same_on_several_workers_too(tmp_path):
    lines = measure_tests(tmp_path, tests=8, rounds=1)
    assert [line.value > 0 for line in lines] == [True] * 6


def test_none_is_missed_among_many_requests(tmp_path):
    (line,) = measure_many(tmp_path, 1_000)
    assert line.value > 0


def test_the_start_is_measured():
    (line,) = measure_start(1)
    assert 10 < line.value < 60_000
