"""What follows in memory once captures are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.core.events import Captured, Event
from app.core.model import Summary
from app.db.counts import RequestCounts
from app.db.storage_limits import StorageLimits
from app.db.write_jobs import Add


class Inserts:
    """Counts and publishes the groups of captures that the writer has stored."""

    def __init__(self, counts: RequestCounts, limits: StorageLimits, publish: Callable[[Event], None]) -> None:
        self._request_counts, self._limits, self._publish = counts, limits, publish

    def stored(
        self, adds: list[Add], first_seq: int, others: Sequence[Summary] | None = (), *, seconds: float = 0.0
    ) -> None:
        """They are on disk: wake the waiting callers, count, and publish one event for the whole commit. `others` were
        stored before them by other nodes; None: that is not known yet, and all of them are announced later. The
        commit took so many `seconds`. Called on the loop's thread."""
        summaries = [summary for summary in others or () if summary.endpoint_id in self._request_counts]
        grown: dict[int, int] = {}
        taken, in_parts = 0, []
        of_others = len(summaries)
        for seq, (future, capture, _, body_key, _, _, _, size, _) in enumerate(adds, first_seq):
            if not future.done():
                future.set_result(seq)
            taken += size
            if body_key is not None:
                in_parts.append(body_key)
            endpoint_id = capture.endpoint_id
            if endpoint_id in self._request_counts:
                summaries.append(capture.summary(seq))
                grown[endpoint_id] = grown.get(endpoint_id, 0) + size
        self._limits.stored(taken, in_parts)
        if others is None:
            for endpoint_id, size in grown.items():
                self._request_counts.grew(endpoint_id, size)
            return
        self._request_counts.newest_seq = first_seq + len(adds) - 1
        if summaries:
            self._request_counts.stored(summaries, grown)
            own = len(summaries) - of_others
            self._publish(Captured(summaries=tuple(summaries), own=own, seconds=seconds))
