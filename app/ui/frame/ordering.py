"""The order of the endpoints: moves asked for by drag, keys, menu or palette, made one after the other."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Slot

from app.ui.ports import Doors
from app.ui.tasks import Tasks


class EndpointOrder(QObject):
    """What is asked for while a move is being stored is worked out after it, so that quick keys are all obeyed."""

    def __init__(self, doors: Doors, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._doors, self._tasks = doors, tasks
        self._moving = asyncio.Lock()

    def can_move(self, endpoint_id: int, by: int) -> bool:
        """Whether there is a place to move it to, -1 up or 1 down."""
        ids = self._ids()
        return endpoint_id in ids and 0 <= ids.index(endpoint_id) + by < len(ids)

    def move_by(self, endpoint_id: int, by: int) -> None:
        """Move it up (-1) or down (1), if there is room."""
        self._tasks.start(self._move(endpoint_id, None, by), f"move endpoint {endpoint_id}")

    @Slot(object, int)
    def move_to(self, endpoint_id: int, position: int) -> None:
        """Put it at this place, from 1."""
        self._tasks.start(self._move(endpoint_id, position, 0), f"move endpoint {endpoint_id}")

    async def _move(self, endpoint_id: int, position: int | None, by: int) -> None:
        async with self._moving:
            ids = self._ids()
            if endpoint_id not in ids:
                return
            place = ids.index(endpoint_id) + 1
            wanted = max(1, min(len(ids), place + by if position is None else position))
            if wanted != place:
                await self._doors.endpoints.move(endpoint_id, wanted)

    def _ids(self) -> list[int]:
        return [endpoint.id for endpoint in self._doors.endpoints.all()]
