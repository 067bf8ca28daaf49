"""The report on a replay, for copying."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.about import Fact, duration_text, report_text
from app.core.replay.histogram import Histogram
from app.core.replay.spec import (
    ChosenRequests,
    Faults,
    FixedRate,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    Pace,
    ReplayDestination,
    ReplayProgress,
    ReplaySource,
    ReplaySpec,
    ReplayState,
)
from app.core.text import count_of, exact_time, ms_text

_STATES = {
    ReplayState.QUEUED: "Replay is waiting",
    ReplayState.RUNNING: "Replay is running",
    ReplayState.PAUSED: "Replay is paused",
    ReplayState.DONE: "Replay finished",
    ReplayState.CANCELLED: "Replay cancelled",
    ReplayState.INTERRUPTED: "Replay interrupted: Hookline closed",
}


def replay_summary(
    spec: ReplaySpec,
    state: ReplayState,
    progress: ReplayProgress,
    latencies: Histogram,
    results: Mapping[str, int],
    *,
    targets: Mapping[str, tuple[int, int]],
    resumed: bool,
    endpoint: str | None,
    started_at: int,
    ended_at: int,
) -> str:
    """Plain text with aligned columns.

    `results` counts deliveries by `short_result`, `targets` the delivered and the failed ones by URL. `resumed`:
    `results` and `latencies` only have what was sent since. `endpoint` as in `source_text`.
    """
    ms = max(0, ended_at - started_at) / 1_000
    run = [
        ("Requests", source_text(spec.source, endpoint)),
        ("To", destination_text(spec.destination)),
        ("Pace", f"{pace_text(spec.pace)}, {spec.concurrency:,} at once"),
        ("Times", f"{spec.times:,}"),
        ("Faults", faults_text(spec.faults, spec.seed)),
        ("Started", exact_time(started_at)),
        ("Took", ms_text(ms) if ms < 60_000 else duration_text(ms / 1_000)),
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
    if len(targets) > 1:
        sections.append(("Targets", _target_facts(targets)))
    if results:
        most_first = sorted(results.items(), key=lambda result: (-result[1], result[0]))
        width = max(len(f"{count:,}") for count in results.values())
        sections.append((f"Results{since}", [(what, f"{count:,}".rjust(width)) for what, count in most_first]))
    if latencies.count:
        sections.append((f"Latency{since}", _latency_facts(latencies)))
    text = report_text(_STATES[state], sections)
    return f"{text}\n{latencies.text()}" if latencies.count else text


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


def _target_facts(targets: Mapping[str, tuple[int, int]]) -> list[Fact]:
    """The URLs are values: as labels, long ones would push the values of all sections to the right."""
    widths = [max(len(f"{counts[part]:,}") for counts in targets.values()) for part in (0, 1)]
    return [
        (f"{delivered:>{widths[0]},} delivered, {failed:>{widths[1]},} failed", url)
        for url, (delivered, failed) in targets.items()
    ]


def _latency_facts(latencies: Histogram) -> list[Fact]:
    facts = [(f"p{percent}", ms_text(latencies.percentile(percent))) for percent in (50, 90, 95, 99)]
    return [
        ("Shortest", ms_text(latencies.shortest_ms)),
        ("Mean", ms_text(latencies.mean_ms)),
        *facts,
        ("Longest", ms_text(latencies.longest_ms)),
    ]
