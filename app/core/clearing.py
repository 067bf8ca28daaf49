"""Which requests a delete of all of an endpoint's means: those stored when it was asked for, some of them kept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from app.core.model import Record

Mark = Literal["starred", "noted"]
"""What can keep a request from being deleted along with all others: its star, or its note."""

_LAST = "~"
"""After every id."""


class MarkedIds(Record, frozen=True):
    """The ids of the requests that have a star, and of those that have a note."""

    starred: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()

    @property
    def any(self) -> frozenset[str]:
        """Those that have either."""
        return self.starred | self.noted

    def of(self, marks: Collection[Mark]) -> frozenset[str]:
        """Those that have one of these."""
        return (self.starred if "starred" in marks else frozenset()) | (self.noted if "noted" in marks else frozenset())


class StoredIds(Record, frozen=True):
    """Requests of one endpoint; `unread` of them are so."""

    ids: tuple[str, ...]
    unread: int


class Clearing:
    """All requests of an endpoint up to the id `upto`, but those `kept`. It takes effect when the store is told so.

    Ids are made of the time at which a request's head came, so one whose body is still being received may have a lower
    id than `upto`: `spare` keeps it, or its sender would have been told that it is stored while it is deleted.
    What gets a mark in `keep` before it takes effect is kept too, and `marked_late` tells so.
    `total` and `unread` count what there was to be deleted, `deleted` and `deleted_unread` what is gone of it.
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
        """This request is only now about to be stored."""
        if capture_id <= self.upto:
            self.kept.add(capture_id)

    def limit(self, upto: str, kept: frozenset[str]) -> None:
        """What is stored is known now: the newest id, and the requests that are to be kept for their marks."""
        self.upto = upto
        self.kept = {name for name in self.kept if name <= upto} | kept


class Hidden(Record, frozen=True):
    """What is left out of what is read, on any thread: `spans` of endpoints, and the requests that `names` says."""

    spans: tuple[Clearing, ...] = ()
    names: Callable[[str], bool] | None = None

    def has(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether this request of that endpoint is hidden."""
        if self.names is not None and self.names(capture_id):
            return True
        return any(span.has(endpoint_id, capture_id) for span in self.spans)
