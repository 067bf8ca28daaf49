"""Requests that something is to be done with: those selected, or all that a list had when they were asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from app.core.deletion import MarkedIds
from app.core.model import Record, Summary


class SelectedRequests(Record, frozen=True):
    """`unread` and `starred` of `ids` are so; they came from `endpoint_ids`, received `first` to `last`.

    `only` is the one request where there is one. `whole` tells that these are all of a list, oldest first; `filter`
    is what that list was filtered by.
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
    """Why these are not stored any more; empty while they are."""

    @property
    def count(self) -> int:
        """How many."""
        return len(self.ids)

    def has(self, capture_id: str) -> bool:
        """Whether it is one of a `whole` list."""
        at = bisect_left(self.ids, capture_id)
        return at < len(self.ids) and self.ids[at] == capture_id

    def among(self, marked: MarkedIds) -> MarkedIds:
        """The marked requests that are among these. Marks are few, these may be a million."""
        few = None if self.whole else frozenset(self.ids)
        starred, noted = (
            frozenset(filter(self.has, ids) if few is None else ids & few) for ids in (marked.starred, marked.noted)
        )
        return MarkedIds(starred=starred, noted=noted)


def chosen_of(summaries: Sequence[Summary], deleted: str = "") -> SelectedRequests:
    """These, in their order; `deleted` says why they are not stored any more."""
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
