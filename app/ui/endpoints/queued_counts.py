"""Counts the deliveries that wait for the targets of an endpoint, or failed in a row, and reads their last errors."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from app.core.events import (
    Captured,
    DeletionPurged,
    DeliveriesQueued,
    DeliveryChanged,
    Purged,
    Subscriptions,
    TargetChanged,
)
from app.core.target import Target, TargetCounts
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.throttle import Throttle

COUNT_MS = 500


class QueuedCounts(QObject):
    """`counts` are by target id. It counts only while it watches any; `changed` follows each count."""

    changed = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._deliveries = services.store.deliveries
        self.counts: dict[int, TargetCounts] = {}
        self._watched: tuple[int, ...] = ()
        self._counting = Latest(self, tasks, "count queued deliveries")
        self._throttle = Throttle(COUNT_MS, self, self._count)
        self._subscriptions = Subscriptions(services.bus)
        for kind in (Captured, DeliveryChanged, DeliveriesQueued, DeletionPurged, Purged, TargetChanged):
            self._subscriptions.add(kind, self._call)

    def watch(self, targets: Sequence[Target]) -> None:
        """Count for these from now on."""
        target_ids = tuple(target.id for target in targets)
        if target_ids != self._watched:
            self._watched = target_ids
            self.counts = {number: count for number, count in self.counts.items() if number in target_ids}
            self._call()

    def of(self, targets: Sequence[Target | None]) -> int | None:
        """The sum of these; None until all were counted. None stands for a target that is not stored yet."""
        target_ids = [target.id for target in targets if target is not None]
        if any(number not in self.counts for number in target_ids):
            return None
        return sum(self.counts[number].queued for number in target_ids)

    def known(self, target: Target | None) -> TargetCounts:
        """Those of one, as far as they are known."""
        return self.counts.get(target.id, TargetCounts()) if target is not None else TargetCounts()

    def stop(self) -> None:
        self._watched = ()
        self._subscriptions.end()
        self._counting.stop()

    def _call(self, event: object = None) -> None:
        if self._watched:
            self._throttle.call()

    @Slot()
    def _count(self) -> None:
        if self._watched:
            self._counting.run_next(self._read)

    async def _read(self) -> None:
        found = await self._deliveries.target_counts()
        counts = {number: found.get(number, TargetCounts()) for number in self._watched}
        if counts != self.counts:
            self.counts = counts
            self.changed.emit()
