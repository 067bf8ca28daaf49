"""Deliveries that any node may send, each target's by one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.core.delivery import QueuedDelivery
from app.db.deliveries.deliveries import Deliveries as SharedDeliveries
from app.db.deliveries.targets import RemovedTargets, Targets
from app.db.part import Shared
from app.db.postgres.nodes import Nodes


class Deliveries(SharedDeliveries):
    def __init__(self, shared: Shared, targets: Targets, removed_targets: RemovedTargets, nodes: Nodes) -> None:
        super().__init__(shared, targets, removed_targets)
        self._nodes = nodes
        self._unmarked: set[int] = set()
        """Targets that were claimed, and what was being sent to them is not marked yet."""

    async def claim(self, target_id: int) -> bool:
        """What the node that had the target before was sending may have been received: that is marked."""
        claimed = await self._nodes.claim(f"target {target_id}")
        if claimed:
            self._unmarked.add(target_id)
        if claimed is not False and target_id in self._unmarked:
            await self.interrupt(target_id)
            self._unmarked.discard(target_id)
        return claimed is not False

    async def queued(
        self, target_id: int, limit: int, *, due_at: int | None = None, without: Collection[str] = ()
    ) -> list[QueuedDelivery]:
        """Empty after other nodes took this one for dead: its sender then stops, and claims the target again."""
        if self._nodes.has_lost(f"target {target_id}"):
            return []
        return await super().queued(target_id, limit, due_at=due_at, without=without)

    async def next_due_at(self, target_id: int, *, without: Collection[str] = ()) -> int | None:
        if self._nodes.has_lost(f"target {target_id}"):
            return None
        return await super().next_due_at(target_id, without=without)

    async def end_removed(self, target_ids: Iterable[int]) -> None:
        """Nobody sends what is queued for these, which are gone: their nodes died before they could end it."""
        for target_id in target_ids:
            if await self.claim(target_id):
                self._removed_targets.check([target_id])
