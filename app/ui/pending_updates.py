"""The latest changes to requests: a record read from the store meanwhile may be out of date."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.core.model import Summary

KEPT = 2_000
"""The number of requests remembered; fewer than that change while one is being read."""


class PendingUpdates:
    """The last changes of recently changed requests, by ID. All changes are reported, so the last one applies."""

    def __init__(self) -> None:
        self._recent: dict[str, dict[str, Any]] = {}

    def change(self, capture_id: str, **fields: Any) -> None:
        """These fields of its `Summary` have changed to these values."""
        self._recent[capture_id] = {**self._recent.pop(capture_id, {}), **fields}
        if len(self._recent) > KEPT:
            del self._recent[next(iter(self._recent))]

    def forget(self, field: str) -> None:
        """The field changed for requests that were not listed."""
        for fields in self._recent.values():
            fields.pop(field, None)

    def updated(self, read: Summary) -> Summary:
        """The summary with the known changes applied."""
        fields = self._recent.get(read.id)
        return replace(read, **fields) if fields else read
