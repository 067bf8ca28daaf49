"""Moves endpoints, one after the other, as requested by dragging, keys, menu or palette."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Slot

from app.ui.services import Services
from app.ui.tasks import Tasks


class EndpointOrder(QObject):
    """A move requested while another is being stored is computed afterwards, so that fast key presses all count."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks = services, tasks
        self._moving = asyncio.Lock()

    def can_move(self, endpoint_id: int, by: int) -> bool:
        """Whether it can move up (-1) or down (1)."""
        ids = self._ids()
        return endpoint_id in ids and 0 <= ids.index(endpoint_id) + by < len(ids)

    def move_by(self, endpoint_id: int, by: int) -> None:
        """Move it up (-1) or down (1), if possible."""
        self._tasks.start(self._move(endpoint_id, None, by), f"move endpoint {endpoint_id}")

    @Slot(object, int)
    def move_to(self, endpoint_id: int, position: int) -> None:
        """Move it to this position, from 1."""
        self._tasks.start(self._move(endpoint_id, position, 0), f"move endpoint {endpoint_id}")

    async def _move(self, endpoint_id: int, position: int | None, by: int) -> None:
        async with self._moving:
            ids = self._ids()
            if endpoint_id not in ids:
                return
            place = ids.index(endpoint_id) + 1
            target = max(1, min(len(ids), place + by if position is None else position))
            if target != place:
                await self._services.endpoints.move(endpoint_id, target)

    def _ids(self) -> list[int]:
        return [endpoint.id for endpoint in self._services.endpoints.all()]
