"""Counts latencies in a bounded number of buckets whose width grows with the value, as HdrHistogram does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from app.core.record import Record
from app.core.text import count_of, ms_text

_PARTS = 20
"""A bucket is this part of its power of ten, so its middle is at most 2.5 % from any value in it."""
_MAX_US = 24 * 3_600_000_000
"""Longer latencies count as this one. It bounds the buckets to about 1,700."""
_SHOWN = (50, 90, 95, 99)
_BAR = 40


class HistogramRow(Record, frozen=True):
    """How many latencies were from `from_ms` up to, not including, `to_ms`."""

    from_ms: float
    to_ms: float
    count: int


class Histogram:
    """Percentiles are at most 2.5 % off; below 100 µs, and the shortest and longest latency, they are exact."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._sum_us = self._longest_us = 0
        self._shortest_us = _MAX_US
        self.count = 0

    def add(self, ms: float) -> None:
        """ValueError for a number that is negative or not finite."""
        if not (math.isfinite(ms) and ms >= 0):
            raise ValueError(f"{ms} is not a latency")
        us = min(round(ms * 1_000), _MAX_US)
        start = us - us % _width(us)
        self._counts[start] = self._counts.get(start, 0) + 1
        self._sum_us += us
        self._shortest_us, self._longest_us = min(self._shortest_us, us), max(self._longest_us, us)
        self.count += 1

    def merge(self, other: Histogram) -> None:
        """Add all latencies of `other`."""
        for start, count in other._counts.items():
            self._counts[start] = self._counts.get(start, 0) + count
        self._sum_us += other._sum_us
        self._shortest_us = min(self._shortest_us, other._shortest_us)
        self._longest_us = max(self._longest_us, other._longest_us)
        self.count += other.count

    @property
    def shortest_ms(self) -> float:
        """0 without latencies."""
        return self._shortest_us / 1_000 if self.count else 0.0

    @property
    def longest_ms(self) -> float:
        return self._longest_us / 1_000

    @property
    def mean_ms(self) -> float:
        """0 without latencies."""
        return self._sum_us / self.count / 1_000 if self.count else 0.0

    def percentile(self, percent: float) -> float:
        """Milliseconds that `percent` (0 to 100) of the latencies do not exceed: the nearest rank; 0 without any."""
        rank, passed = max(1, math.ceil(self.count * percent / 100)), 0
        if rank >= self.count:
            return self.longest_ms
        for start in sorted(self._counts):
            passed += self._counts[start]
            if passed >= rank:
                middle = start + (_width(start) - 1) / 2
                return min(max(middle, self._shortest_us), self._longest_us) / 1_000
        return self.longest_ms

    def rows(self) -> list[HistogramRow]:
        """From the shortest to the longest latency, in steps of 1, 2, 5, 10 and so on; each row is exact."""
        starts = sorted(self._counts)
        rows: list[HistogramRow] = []
        at = 0
        for low, high in _steps():
            first = at
            while at < len(starts) and starts[at] < high:
                at += 1
            if rows or at > first:
                count = sum(self._counts[start] for start in starts[first:at])
                rows.append(HistogramRow(from_ms=low / 1_000, to_ms=high / 1_000, count=count))
            if at == len(starts):
                break
        return rows

    def text(self) -> str:
        """For copying: one line of percentiles, then a bar for each row."""
        if not self.count:
            return "No latencies.\n"
        shown = [f"p{percent} {ms_text(self.percentile(percent))}" for percent in _SHOWN]
        lines = [f"{count_of(self.count, 'latency', 'latencies')}: {', '.join(shown)}, max {ms_text(self.longest_ms)}"]
        rows = self.rows()
        highest = max(row.count for row in rows)
        table = [(f"{_short(row.from_ms)} to {_short(row.to_ms)} ms", f"{row.count:,}", row.count) for row in rows]
        label_width, count_width = max(len(label) for label, _, _ in table), max(len(text) for _, text, _ in table)
        for label, text, count in table:
            bar = "#" * math.ceil(count * _BAR / highest)
            lines.append(f"  {label:>{label_width}}  {text:>{count_width}}  {bar}".rstrip())
        return "\n".join(lines) + "\n"


def _width(us: int) -> int:
    """The width of the bucket that `us` is in."""
    return max(1, int(10 ** (len(str(us)) - 1)) // _PARTS)


def _steps() -> Iterator[tuple[int, int]]:
    """Microseconds: 0 to 10, 10 to 20, 20 to 50, 50 to 100 and so on."""
    low, unit = 0, 10
    while low <= _MAX_US:
        for factor in (1, 2, 5):
            yield low, unit * factor
            low = unit * factor
        unit *= 10


def _short(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 1 else f"{ms:g}"
