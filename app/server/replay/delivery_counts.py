"""Counts what came of a replay's deliveries, by target."""

from __future__ import annotations

from collections import Counter

from app.core.model import DeliveryState
from app.core.replay.spec import TargetProgress
from app.core.replay.summary import Histogram


class _TargetCounts:
    """`latencies` are those since an interruption."""

    def __init__(self) -> None:
        self.states, self.latencies = Counter[DeliveryState](), Histogram()

    def progress(self, url: str, running_s: float) -> TargetProgress:
        states, latencies = self.states, self.latencies
        return TargetProgress(
            url=url,
            delivered=states[DeliveryState.DELIVERED],
            failed=states[DeliveryState.FAILED],
            not_sent=states[DeliveryState.NOT_SENT],
            per_second=round(latencies.count / running_s, 1) if running_s > 0 else 0.0,
            median_ms=latencies.percentile(50) if latencies.count else None,
            p95_ms=latencies.percentile(95) if latencies.count else None,
        )


class DeliveryCounts:
    """`results` counts them by `short_result`; without those from before an interruption, whose results are not
    known."""

    def __init__(self) -> None:
        self._by_url: dict[str, _TargetCounts] = {}
        self.results = Counter[str]()

    @property
    def delivered(self) -> int:
        return sum(target.states[DeliveryState.DELIVERED] for target in self._by_url.values())

    @property
    def failed(self) -> int:
        """With those that were not sent."""
        return sum(target.states.total() for target in self._by_url.values()) - self.delivered

    @property
    def latencies(self) -> Histogram:
        """Of all targets."""
        together = Histogram()
        for target in self._by_url.values():
            together.merge(target.latencies)
        return together

    def by_target(self, running_s: float) -> tuple[TargetProgress, ...]:
        """In the order in which they were first sent to, requests without a target last."""
        found = [target.progress(url, running_s) for url, target in self._by_url.items()]
        return tuple(sorted(found, key=lambda one: not one.url))

    def add(self, url: str, state: DeliveryState, result: str | None = None, ms: float | None = None) -> None:
        """`url` is the target's, empty if it is not known which target a request would have gone to. `ms` is how long
        its attempt took, None if nothing was sent."""
        target = self._by_url.setdefault(url, _TargetCounts())
        target.states[state] += 1
        if result is not None:
            self.results[result] += 1
        if ms is not None:
            target.latencies.add(ms)
