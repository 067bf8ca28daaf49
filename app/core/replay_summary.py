"""The report on a replay, for copying, with the times of its responses in a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from app.core.model import Endpoint
from app.core.record import Record
from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    Pace,
    Replay,
    ReplayDestination,
    ReplayProgress,
    ReplaySource,
    ReplayState,
    TargetProgress,
)
from app.core.retry import wait_text
from app.core.text import Fact, count_of, exact_time, ms_text, report_text

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


_STATES = {
    ReplayState.QUEUED: "Replay is waiting",
    ReplayState.RUNNING: "Replay is running",
    ReplayState.PAUSED: "Replay is paused",
    ReplayState.DONE: "Replay finished",
    ReplayState.CANCELLED: "Replay cancelled",
    ReplayState.INTERRUPTED: "Replay interrupted: Hookline closed",
}


def replay_summary(
    replay: Replay, latencies: Histogram, results: Mapping[str, int], *, resumed: bool, endpoint: str | None
) -> str:
    """Plain text with aligned columns, of a replay that has ended.

    `results` counts deliveries by `result_text`. `resumed`: `results` and `latencies` only have what was sent since.
    `endpoint` as in `source_text`.
    """
    spec, progress = replay.spec, replay.progress
    started_at = replay.started_at or replay.created_at
    ended_at = replay.ended_at or started_at
    ms = max(0, ended_at - started_at) / 1_000
    run = [
        ("Requests", source_text(spec.source, endpoint)),
        ("To", destination_text(spec.destination)),
        ("Pace", f"{pace_text(spec.pace)}, {spec.concurrency:,} at once"),
        ("Times", f"{spec.times:,}"),
        ("Faults", faults_text(spec.faults, spec.seed)),
        ("Started", exact_time(started_at)),
        ("Took", took_text(started_at, ended_at)),
    ]
    totals = [
        ("Sent", _sent_text(progress)),
        ("Delivered", f"{progress.delivered:,}"),
        ("Failed", f"{progress.failed:,}"),
        *_if_any("Dropped on purpose", progress.dropped),
        *_if_any("Duplicated on purpose", progress.duplicated),
        *_if_any("Left out, incomplete", progress.incomplete),
        *_if_any("Repeated after a restart", progress.repeated),
        ("Rate", f"{progress.sent * 1_000 / ms:,.1f} requests per second" if ms else "-"),
    ]
    sections: list[tuple[str, list[Fact]]] = [("Replay", run), ("Totals", totals)]
    since = " since it was resumed" if resumed else ""
    targets = [target for target in progress.targets if target.url]
    if len(targets) > 1:
        sections.append(("Targets", _target_facts(targets)))
    if results:
        most_first = sorted(results.items(), key=lambda result: (-result[1], result[0]))
        width = max(len(f"{count:,}") for count in results.values())
        sections.append((f"Results{since}", [(what, f"{count:,}".rjust(width)) for what, count in most_first]))
    if latencies.count:
        sections.append((f"Latency{since}", _latency_facts(latencies)))
    text = report_text(_STATES[replay.state], sections)
    return f"{text}\n{latencies.text()}" if latencies.count else text


def took_text(started_at: int, ended_at: int) -> str:
    """`3.0 s`, `12 min`."""
    return wait_text(max(0, ended_at - started_at))


def endpoint_name(source: ReplaySource, endpoint_of: Callable[[int], Endpoint | None]) -> str | None:
    """Of the one they are of; None for chosen requests, for all endpoints, and if it was deleted."""
    number = source.endpoint_id if isinstance(source, MatchingRequests) else None
    endpoint = endpoint_of(number) if number is not None else None
    return endpoint.name if endpoint is not None else None


def source_text(source: ReplaySource, endpoint: str | None) -> str:
    """`3 selected requests`, `all requests of “Stripe” that match “status:500”, …`.

    `endpoint` is the name of the one they are of, None if it was deleted.
    """
    if isinstance(source, ChosenRequests):
        return count_of(len(source.ids), "selected request")
    whose = "all endpoints" if source.endpoint_id is None else f"“{endpoint}”" if endpoint else "a deleted endpoint"
    parts = [f"all requests of {whose}" + (f" that match “{source.query}”" if source.query else "")]
    if source.received_after is not None:
        parts.append(f"from {exact_time(source.received_after)}")
    if source.received_before is not None:
        parts.append(f"before {exact_time(source.received_before)}")
    return ", ".join(parts)


def destination_text(destination: ReplayDestination) -> str:
    if isinstance(destination, OneUrl):
        return destination.url
    if isinstance(destination, OtherEndpoint):
        return f"endpoint {destination.slug}"
    return "their targets" if destination.target_id is None else "one of their targets"


def pace_text(pace: Pace) -> str:
    """`back to back`, `5 per second`, `original gaps × 0.5, at most 2.0 s each`."""
    if isinstance(pace, FixedRate):
        return f"{pace.per_second:,g} per second"
    if not isinstance(pace, OriginalGaps):
        return "back to back"
    scale = "" if pace.scale == 1 else f" × {pace.scale:,g}"
    longest = "" if pace.longest_gap_ms is None else f", at most {ms_text(pace.longest_gap_ms)} each"
    return f"original gaps{scale}{longest}"


def faults_text(faults: Faults, seed: int) -> str:
    """`5 % duplicated, 1 % dropped (seed 7)`; `none`."""
    parts = (
        (faults.duplicate, "duplicated"),
        (faults.swap, "swapped"),
        (faults.drop, "dropped"),
        (faults.delay, f"delayed up to {ms_text(faults.delay_max_ms)}"),
        (faults.cut_off, "cut off"),
    )
    named = ", ".join(f"{share * 100:g} % {what}" for share, what in parts if share)
    return f"{named} (seed {seed})" if named else "none"


def _sent_text(progress: ReplayProgress) -> str:
    if progress.total is None or progress.done == progress.total:
        return count_of(progress.sent, "request")
    return f"{progress.sent:,} of {count_of(progress.total, 'request')}"


def _if_any(label: str, count: int) -> list[Fact]:
    return [(label, f"{count:,}")] if count else []


def _target_facts(targets: Sequence[TargetProgress]) -> list[Fact]:
    """The URLs are values: as labels, long ones would push the values of all sections to the right."""
    counts = [[f"{one.delivered:,} delivered", f"{one.failed:,} failed"] for one in targets]
    if any(one.not_sent for one in targets):
        for row, one in zip(counts, targets, strict=True):
            row.append(f"{one.not_sent:,} not sent")
    widths = [max(map(len, column)) for column in zip(*counts, strict=True)]
    labels = [", ".join(map(str.rjust, row, widths)) for row in counts]
    return [(label, f"{one.url}{_times_text(one)}") for label, one in zip(labels, targets, strict=True)]


def _times_text(target: TargetProgress) -> str:
    if target.median_ms is None or target.p95_ms is None:
        return ""
    return f" (p50 {ms_text(target.median_ms)}, p95 {ms_text(target.p95_ms)})"


def _latency_facts(latencies: Histogram) -> list[Fact]:
    facts = [(f"p{percent}", ms_text(latencies.percentile(percent))) for percent in _SHOWN]
    return [
        ("Shortest", ms_text(latencies.shortest_ms)),
        ("Mean", ms_text(latencies.mean_ms)),
        *facts,
        ("Longest", ms_text(latencies.longest_ms)),
    ]
