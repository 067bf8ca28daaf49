"""Metrics in Prometheus' format, with a registry for each reading: none is of the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from app.core.delivery import FailureKind
from app.server.node_counts import DURATIONS, NodeCounts

__all__ = ["CONTENT_TYPE_LATEST", "text"]

GAUGES = {
    "endpoints": "Endpoints of the store.",
    "stored_requests": "Requests that the store holds.",
    "stored_bytes": "Bytes that the storage limit counts.",
    "storage_limit_bytes": "The storage limit of all endpoints together; missing without one.",
    "stored_response_bytes": "Bytes kept of what targets responded.",
    "storage_trouble": "1 while nothing can be stored.",
    "queued_deliveries": "Deliveries of the store that wait; missing while it cannot be read.",
    "nodes": "Programs that run on the store; missing while it cannot be read.",
    "event_readers": "Callers that follow the events of this node.",
}
ATTEMPTED = "Attempts of deliveries that this node made, by what came of them."
COMMITTED = "Requests that this node stored in one commit."
COMMITTING = "How long a commit with requests took, in seconds."
LARGEST_COMMIT = 10
"""The last bucket is of at most 2 to this power."""


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def text(version: str, counts: NodeCounts, gauges: Mapping[str, float | None]) -> bytes:
    """All metrics; gauges that are None are left out. Reads files of the system."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(_families(version, counts, gauges)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _families(version: str, counts: NodeCounts, gauges: Mapping[str, float | None]) -> Iterator[Metric]:
    yield InfoMetricFamily("hookline", "The program.", value={"version": version})
    yield _by_class(
        "captured_requests", "Requests that this node stored, by the status of the response.", counts.captured
    )
    yield CounterMetricFamily(
        "hookline_captured_body_bytes", "Bytes of the bodies that this node stored.", value=counts.captured_bytes
    )
    sizes = [2.0**power for power in range(LARGEST_COMMIT + 1)]
    yield _histogram("commit_requests", COMMITTED, sizes, counts.commits, counts.captured.total())
    yield _histogram("commit_seconds", COMMITTING, DURATIONS, counts.durations, counts.commit_seconds)
    yield _by_class(
        "refused_requests", "Requests that this node refused, by the status of the response.", counts.refused
    )
    attempts = CounterMetricFamily("hookline_delivery_attempts", ATTEMPTED, labels=["result"])
    for kind in ("", *FailureKind):
        attempts.add_metric([str(kind) or "success"], counts.attempts[kind])
    yield attempts
    for name, value in gauges.items():
        if value is not None:
            yield GaugeMetricFamily(f"hookline_{name}", GAUGES[name], value=float(value))


def _by_class(name: str, documentation: str, counts: Counter[int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"hookline_{name}", documentation, labels=["status"])
    for digit in sorted({2, 3, 4, 5} | counts.keys()):
        family.add_metric([f"{digit}xx"], counts[digit])
    return family


def _histogram(
    name: str, documentation: str, bounds: Sequence[float], counts: Counter[int], total: float
) -> HistogramMetricFamily:
    """`counts` are by the place of their bound."""
    upto = accumulate(counts[place] for place in range(len(bounds)))
    buckets = [(str(bound), float(count)) for bound, count in zip(bounds, upto, strict=True)]
    family = HistogramMetricFamily(f"hookline_{name}", documentation)
    family.add_metric([], [*buckets, ("+Inf", float(counts.total()))], sum_value=total)
    return family
