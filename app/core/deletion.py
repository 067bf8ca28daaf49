"""What is deleted can be restored until it is purged: which requests, and which of them a star or a note exempts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from app.core.model import Endpoint
from app.core.record import Record

Mark = Literal["starred", "noted"]
"""A star or a note can exempt a request from being deleted with all others."""


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


class Deletion(Record, frozen=True):
    """Deleted requests, which can be restored until they are purged: `requests` of them, of `endpoint_ids`.

    `endpoint` is set if it was deleted with them. `kept` counts requests that have a mark and were left.
    """

    number: int
    endpoint_ids: frozenset[int] = frozenset()
    requests: int = 0
    kept: int = 0
    endpoint: Endpoint | None = None
