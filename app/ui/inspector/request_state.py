"""Follows how the open request stands."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.core.events import DeliveriesQueued, DeliveryChanged, EndpointSaved, Subscriptions
from app.core.model import Capture, DeliveryState
from app.core.worst_state import State, delivery_state, worst
from app.ui.services import Services


class RequestState(QObject):
    """`changed` carries the `State` of the request given to `watch`."""

    changed = Signal(object)

    def __init__(self, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._endpoints = services.store.endpoints
        self._capture: Capture | None = None
        self._delivery = DeliveryState.NONE
        self._damaged = False
        subscriptions = Subscriptions(services.bus)
        subscriptions.add(DeliveryChanged, self._delivered)
        subscriptions.add(DeliveriesQueued, self._queued)
        subscriptions.add(EndpointSaved, self._saved)
        self.stop = subscriptions.end

    def watch(self, capture: Capture) -> None:
        self._capture, self._delivery, self._damaged = capture, capture.delivery, False
        self._tell()

    def set_damaged(self) -> None:
        """What is stored of it is not what was received."""
        self._damaged = True
        self._tell()

    def _delivered(self, event: DeliveryChanged) -> None:
        if self._capture is not None and event.delivery.capture_id == self._capture.id:
            self._delivery = event.state
            self._tell()

    def _queued(self, event: DeliveriesQueued) -> None:
        if self._capture is not None and self._capture.id in event.shown:
            self._delivery = event.shown[self._capture.id]
            self._tell()

    def _saved(self, event: EndpointSaved) -> None:
        """A target may be paused now, or resumed."""
        if self._capture is not None and event.endpoint.id == self._capture.endpoint_id:
            self._tell()

    def _tell(self) -> None:
        if self._capture is not None:
            endpoint = self._endpoints.by_id(self._capture.endpoint_id)
            state = delivery_state(self._delivery, endpoint.targets if endpoint is not None else ())
            self.changed.emit(worst((state, State.DAMAGED)) if self._damaged else state)
