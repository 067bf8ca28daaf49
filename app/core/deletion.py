"""Deleting all of an endpoint's requests: which of them, and what is hidden until it is done."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from app.core.record import Record

Mark = Literal["starred", "noted"]
"""A star or a note can exempt a request from being deleted with all others."""

_LAST = "~"
"""Sorts after every id."""


class MarkedIds(Record, frozen=True):
    """The ids of the requests that have a star, and of those that have a note."""

    starred: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()

    @property
    def any(self) -> frozenset[str]:
        """With a star, a note or both."""
        return self.starred | self.noted

    def of(self, marks: Collection[Mark]) -> frozenset[str]:
        """With at least one of these marks."""
        return (self.starred if "starred" in marks else frozenset()) | (self.noted if "noted" in marks else frozenset())


class StoredIds(Record, frozen=True):
    """Requests of one endpoint; `unread` counts the unread ones."""

    ids: tuple[str, ...]
    unread: int


class Clearing:
    """All requests of an endpoint up to the id `upto`, except those `kept`. Nothing is deleted before `finish`.

    An id contains the time at which the request's head arrived, so a request whose body is still being received may
    have a lower id than `upto`. `spare` keeps it: its sender gets a response that says it was stored.
    A request that gets a mark in `keep` before then is kept too, and `marked_late` is set.
    `total` and `unread` count what was to be deleted, `deleted` and `deleted_unread` what has been.
    """

    def __init__(self, endpoint_id: int) -> None:
        self.endpoint_id = endpoint_id
        self.upto = _LAST
        self.kept: set[str] = set()
        self.keep: frozenset[Mark] = frozenset()
        self.marked_late = False
        self.total = self.unread = 0
        self.deleted = self.deleted_unread = 0

    def has(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether this request of that endpoint is to be deleted."""
        return endpoint_id == self.endpoint_id and capture_id <= self.upto and capture_id not in self.kept

    def spare(self, capture_id: str) -> None:
        """Keep a request that is about to be stored."""
        if capture_id <= self.upto:
            self.kept.add(capture_id)

    def limit(self, upto: str, kept: frozenset[str]) -> None:
        """Set the newest id stored, and the requests to keep for their marks."""
        self.upto = upto
        self.kept = {name for name in self.kept if name <= upto} | kept


class Hidden(Record, frozen=True):
    """Requests to leave out of reads, on any thread: `spans` of endpoints, and those for which `names` is true."""

    spans: tuple[Clearing, ...] = ()
    names: Callable[[str], bool] | None = None

    def has(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether this request of that endpoint is hidden."""
        if self.names is not None and self.names(capture_id):
            return True
        return any(span.has(endpoint_id, capture_id) for span in self.spans)
