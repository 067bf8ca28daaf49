"""The time range that a list is limited to."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.ids import first_id
from app.core.model import PageKey, Record, Summary


class TimeRange(Record, frozen=True):
    """From `start` up to, not including, `end`, in microseconds."""

    start: int
    end: int

    @property
    def top(self) -> PageKey:
        """The requests in the range are older than this key."""
        return PageKey(received_at=self.end, id=first_id(self.end))

    @property
    def bottom(self) -> PageKey:
        """The requests in the range are newer than this key."""
        return PageKey(received_at=self.start, id=first_id(self.start))

    def holds(self, at_us: int) -> bool:
        """Whether the time is in the range."""
        return self.start <= at_us < self.end

    def cut(self, page: Sequence[Summary]) -> list[Summary]:
        """The part of a page that is in the range."""
        return [item for item in page if self.holds(item.received_at)]
