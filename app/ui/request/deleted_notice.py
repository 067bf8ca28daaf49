"""Notices that the request shown was deleted, and why."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.core.clock import DAY_US
from app.core.events import EndpointRemoved, Purged, RequestsRemoved, Subscriptions
from app.core.model import Capture
from app.core.text import count_of
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.undo.pending_delete import DeleteChanged

BY_SOMEONE = "This request was deleted."
WITH_ENDPOINT = "This request was deleted with its endpoint."
FOR_SPACE = "This request was deleted to stay within a storage limit."


class DeletionWatcher(QObject):
    """Watches the request given to `watch`; `found` carries, once, the reason why it is no longer stored. `undone`: it
    was restored.
    """

    found = Signal(str)
    undone = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks = services, tasks
        self._watched: Capture | None = None
        self._deleted: Capture | None = None
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.add(Purged, self._purged)
        self._subscriptions.add(DeleteChanged, self._delete_changed)

    def watch(self, capture: Capture | None) -> None:
        """Watch this request; None for none."""
        self._watched, self._deleted = capture, None

    def stop(self) -> None:
        self._watched = self._deleted = None
        self._subscriptions.end()

    def _removed(self, event: RequestsRemoved) -> None:
        watched = self._watched
        if watched is None or not event.has(watched.endpoint_id, watched.id):
            return
        if event.ids is None:
            self._check(watched, BY_SOMEONE)  # A request received in the meantime is still stored.
        else:
            self._report(BY_SOMEONE)

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        if self._watched is not None and self._watched.endpoint_id == event.endpoint.id:
            self._report(WITH_ENDPOINT)

    def _purged(self, event: Purged) -> None:
        watched = self._watched
        if watched is not None and watched.endpoint_id in event.report.deleted:
            self._check(watched, self._reason(watched, event.report.at))

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state == "undone" and self._deleted is not None:
            self._tasks.start(self._check_restored(self._deleted), "detail: is it stored again", self)

    async def _check_restored(self, capture: Capture) -> None:
        if await self._services.store.captures.get(capture.id) is not None and self._deleted is capture:
            self.undone.emit()

    def _reason(self, capture: Capture, at: int) -> str:
        """Retention and storage limits publish the same event; the request's age tells them apart."""
        endpoint = self._services.store.endpoints.by_id(capture.endpoint_id)
        if endpoint is None or at - capture.received_at < endpoint.retention_days * DAY_US:
            return FOR_SPACE
        return f"This request was deleted by retention: it was kept for {count_of(endpoint.retention_days, 'day')}."

    def _check(self, capture: Capture, reason: str) -> None:
        self._tasks.start(self._check_stored(capture, reason), "detail: is it stored", self)

    async def _check_stored(self, capture: Capture, reason: str) -> None:
        if await self._services.store.captures.get(capture.id) is None and self._watched is capture:
            self._report(reason)

    def _report(self, reason: str) -> None:
        self._watched, self._deleted = None, self._watched
        self.found.emit(reason)
