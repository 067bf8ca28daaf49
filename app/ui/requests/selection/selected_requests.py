"""The requests that a command is about: those selected, or all that a list had when they were read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from app.core.deletion import MarkedIds
from app.core.model import Summary
from app.core.record import Record


class SelectedRequests(Record, frozen=True):
    """`unread` and `starred` count those of `ids`, received by `endpoint_ids` from `first` to `last` (microseconds).

    `only` is set if there is a single request. `whole`: these are all of a list, oldest first, filtered by `filter`.
    """

    ids: Sequence[str] = ()
    unread: int = 0
    starred: int = 0
    endpoint_ids: frozenset[int] = frozenset()
    first: int = 0
    last: int = 0
    only: Summary | None = None
    whole: bool = False
    filter: str = ""
    deleted: str = ""
    """Why these are no longer stored; empty while they are."""

    @property
    def count(self) -> int:
        return len(self.ids)

    def has(self, capture_id: str) -> bool:
        """Whether it is one of them, if they are a `whole` list."""
        at = bisect_left(self.ids, capture_id)
        return at < len(self.ids) and self.ids[at] == capture_id

    def among(self, marked: MarkedIds) -> MarkedIds:
        """The marked requests that are among these. Marks are few, these may be a million."""
        few = None if self.whole else frozenset(self.ids)
        starred, noted = (
            frozenset(filter(self.has, ids) if few is None else ids & few) for ids in (marked.starred, marked.noted)
        )
        return MarkedIds(starred=starred, noted=noted)


def selected_requests(summaries: Sequence[Summary], deleted: str = "") -> SelectedRequests:
    """These, in their order; `deleted` says why they are no longer stored."""
    if not summaries:
        return SelectedRequests()
    times = [summary.received_at for summary in summaries]
    return SelectedRequests(
        ids=[summary.id for summary in summaries],
        unread=sum(not summary.read for summary in summaries),
        starred=sum(summary.starred for summary in summaries),
        endpoint_ids=frozenset(summary.endpoint_id for summary in summaries),
        first=min(times),
        last=max(times),
        only=summaries[0] if len(summaries) == 1 else None,
        deleted=deleted,
    )
