"""The five counts since the window opened, and each endpoint's last hour and last outcome, including from before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from app.core.activity import Bar
from app.core.clock import now_us
from app.core.events import DeliveryChanged
from app.core.ids import uuid7_ms
from app.core.model import DeliveryState, Summary

BUCKETS = 30
BUCKET_US = 120 * 1_000_000
"""The length of a bucket: two minutes, thirty of which are the last hour."""


class SessionStats:
    """Counts from events. Received is stored plus refused."""

    def __init__(self) -> None:
        self.stored = 0
        self.forwarded = 0
        self.failed = 0
        self.refused = 0
        self._activity: defaultdict[int, Counter[int]] = defaultdict(Counter)
        """For each endpoint the requests in each bucket of the last hour."""
        self._outcomes: dict[int, DeliveryState] = {}

    @property
    def received(self) -> int:
        """All requests that reached the capture port."""
        return self.stored + self.refused

    def captured(self, summaries: Sequence[Summary]) -> None:
        self.stored += len(summaries)
        for summary in summaries:
            if summary.delivery is DeliveryState.QUEUED:
                self._waits(summary.endpoint_id)
            self._count(summary.endpoint_id, summary.received_at, 1)

    def _count(self, endpoint_id: int, at_us: int, number: int) -> None:
        activity = self._activity[endpoint_id]
        activity[at_us // BUCKET_US] += number
        if len(activity) > BUCKETS:
            del activity[min(activity)]

    def delivery_changed(self, event: DeliveryChanged) -> None:
        """Count a delivery that has ended; not one that waits for its next attempt, and no replay."""
        delivery = event.delivery
        if delivery.replay_id is not None:
            return
        if delivery.state is DeliveryState.DELIVERED:
            self.forwarded += 1
        elif delivery.state is DeliveryState.FAILED:
            self.failed += 1
        if event.state is DeliveryState.QUEUED:
            self._waits(delivery.endpoint_id)
        else:
            self._outcomes[delivery.endpoint_id] = event.state

    def _waits(self, endpoint_id: int) -> None:
        """A request waits, which is worse than one that was delivered, but does not undo a failure."""
        if self.last_outcome(endpoint_id) in (DeliveryState.DELIVERED, DeliveryState.NONE):
            self._outcomes[endpoint_id] = DeliveryState.QUEUED

    @staticmethod
    def edges(before_us: int) -> list[int]:
        """The bounds of the last hour's buckets, one more than buckets, up to but not including `before_us`."""
        last = before_us // BUCKET_US
        return [*((last - BUCKETS + 1 + n) * BUCKET_US for n in range(BUCKETS)), before_us]

    def add_stored(self, endpoint_id: int, bars: Sequence[Bar], edges: Sequence[int]) -> None:
        """Add what was stored between the `edges`."""
        for bar, start in zip(bars, edges, strict=False):
            if bar.total:
                self._count(endpoint_id, start, bar.total)

    def set_first_outcome(self, endpoint_id: int, state: DeliveryState | None, *, waits: bool) -> None:
        """Add how the latest delivery ended, and whether any waits, unless another has ended since."""
        if endpoint_id not in self._outcomes:
            self._outcomes[endpoint_id] = state or DeliveryState.NONE
            if waits:
                self._waits(endpoint_id)

    def last_outcome(self, endpoint_id: int) -> DeliveryState:
        """The state of the endpoint's latest request, of the worst of its deliveries; NONE if none was forwarded."""
        return self._outcomes.get(endpoint_id, DeliveryState.NONE)

    def activity(self, endpoint_id: int, at_us: int | None = None) -> list[int]:
        """Requests per bucket over the last hour, oldest first; always `BUCKETS` numbers."""
        last = (now_us() if at_us is None else at_us) // BUCKET_US
        counts = self._activity[endpoint_id]
        return [counts[bucket] for bucket in range(last - BUCKETS + 1, last + 1)]

    def removed(self, endpoint_id: int, ids: Iterable[str]) -> None:
        """These requests of the endpoint were deleted; their IDs contain the time of arrival."""
        self._activity[endpoint_id] -= Counter(uuid7_ms(one) * 1_000 // BUCKET_US for one in ids)

    def clear(self, endpoint_id: int) -> None:
        """All requests of the endpoint were deleted."""
        self._activity.pop(endpoint_id, None)

    def forget(self, endpoint_id: int) -> None:
        """The endpoint was deleted."""
        self.clear(endpoint_id)
        self._outcomes.pop(endpoint_id, None)
