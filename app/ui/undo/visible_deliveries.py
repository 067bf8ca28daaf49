"""Deliveries as the window sees them: without those of requests that are about to be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.core.delivery import Delivery, DeliveryFilter
from app.core.delivery_repositories import DeliveryRepository

if TYPE_CHECKING:
    from app.ui.undo.pending_delete import PendingDelete


class VisibleDeliveries:
    """A DeliveryRepository. `count` includes hidden ones."""

    def __init__(self, stored: DeliveryRepository, pending: PendingDelete) -> None:
        self._stored, self._pending = stored, pending

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stored, name)

    async def page(
        self, which: DeliveryFilter, *, before: int | None = None, after: int | None = None, limit: int = 100
    ) -> list[tuple[int, Delivery]]:
        """Reads on until `limit` visible ones are found, so that fewer mean the end."""
        found: list[tuple[int, Delivery]] = []
        while True:
            rows = await self._stored.page(which, before=before, after=after, limit=limit)
            hidden = self._pending.hidden
            if hidden is None:
                found += rows
            else:
                found += [row for row in rows if not hidden.has(row[1].endpoint_id, row[1].capture_id)]
            if len(rows) < limit or len(found) >= limit:
                return found[:limit]
            before, after = (rows[-1][0], None) if after is None else (before, rows[-1][0])
