"""The number of unread requests, in total and by endpoint, updated in batches."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.core.model import Endpoint
from app.core.store import CaptureRepository, EndpointRepository
from app.ui.qt_events import QtEvents


class UnreadCount(QObject):
    """`changed` follows each batch of events. The store keeps the counts in memory, so reading them is cheap."""

    changed = Signal()

    def __init__(
        self, endpoints: EndpointRepository, captures: CaptureRepository, qt_events: QtEvents, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._endpoints, self._captures = endpoints, captures
        self.total = 0
        self._by_endpoint: list[tuple[int, Endpoint, int]] = []
        for signal in (qt_events.counts_changed, qt_events.endpoints_changed):
            signal.connect(self._count)
        self._count()

    def newest(self, most: int) -> list[tuple[Endpoint, int]]:
        """The endpoints with unread requests and their counts, the one with the newest request first."""
        ordered = sorted(self._by_endpoint, key=lambda one: one[0], reverse=True)
        return [(endpoint, unread) for _, endpoint, unread in ordered[:most]]

    @Slot()
    def _count(self) -> None:
        counted = ((endpoint, self._captures.counts(endpoint.id)) for endpoint in self._endpoints.all())
        self._by_endpoint = [
            (one.last_received_at or 0, endpoint, one.unread) for endpoint, one in counted if one.unread
        ]
        self.total = sum(unread for _, _, unread in self._by_endpoint)
        self.changed.emit()
