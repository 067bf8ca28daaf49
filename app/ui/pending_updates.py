"""What was told of requests last: whoever reads one meanwhile may have read it as it was before."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.core.model import Summary

KEPT = 2_000
"""Requests; reading takes a moment, in which fewer change."""


class PendingUpdates:
    """Remembers the last changes of the latest requests, by id. All that changes is told, so that the last is true."""

    def __init__(self) -> None:
        self._lately: dict[str, dict[str, Any]] = {}

    def change(self, capture_id: str, **fields: Any) -> None:
        """These fields of its `Summary` are so now."""
        self._lately[capture_id] = {**self._lately.pop(capture_id, {}), **fields}
        if len(self._lately) > KEPT:
            del self._lately[next(iter(self._lately))]

    def forget(self, field: str) -> None:
        """It changed for requests that were not named."""
        for fields in self._lately.values():
            fields.pop(field, None)

    def as_told(self, read: Summary) -> Summary:
        """The summary, true as far as is known."""
        fields = self._lately.get(read.id)
        return replace(read, **fields) if fields else read
