"""The benchmark of processor time runs, and its numbers mean what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import processor_time
from benchmarks.processor_time import measure

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc"),
]


def test_it_measures_both_with_few_and_with_many_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "ROUND_S", 0.1)
    lines = measure(tmp_path, 1)
    for own, bare, share in (lines[:3], lines[3:]):
        assert 1 < own.value < 10_000
        assert 1 < bare.value < 10_000
        assert share.value == pytest.approx(100 * own.value / bare.value)
        assert share.bar == 125
