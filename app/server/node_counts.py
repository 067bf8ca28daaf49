"""What this program has done since it started, counted from its events: other nodes count for themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from app.core.events import AttemptsMade, Bus, Captured, Refused

DURATIONS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Of commits, in seconds: what Prometheus' own libraries use for requests, and shorter ones."""


class NodeCounts:
    """`captured` and `refused` are by the first digit of the response's status; `attempts` by why they failed, ""
    for those that did not. `commits` has, by `n`, those of at most 2 to the power of `n` captures, and of more than
    half as many; `durations`, by the place of the bound in `DURATIONS`, those that took no longer."""

    def __init__(self, bus: Bus) -> None:
        self.captured: Counter[int] = Counter()
        self.captured_bytes = 0
        self.commits: Counter[int] = Counter()
        self.durations: Counter[int] = Counter()
        self.commit_seconds = 0.0
        self.refused: Counter[int] = Counter()
        self.attempts: Counter[str] = Counter()
        bus.subscribe(Captured, self._captured)
        bus.subscribe(Refused, self._refused)
        bus.subscribe(AttemptsMade, self._attempted)

    def _captured(self, event: Captured) -> None:
        if not event.own:
            return
        captured, size = self.captured, 0
        for summary in event.summaries[-event.own :]:
            captured[summary.response_status // 100] += 1
            size += summary.size
        self.captured_bytes += size
        self.commit_seconds += event.seconds
        self.durations[bisect_left(DURATIONS, event.seconds)] += 1
        self.commits[(event.own - 1).bit_length()] += 1

    def _refused(self, event: Refused) -> None:
        self.refused[event.refusal.status // 100] += 1

    def _attempted(self, event: AttemptsMade) -> None:
        self.attempts.update(event.failures)
