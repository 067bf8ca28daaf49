"""Opens the comparisons of targets."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Endpoint
from app.ui.comparison.choice import compare_refusal
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme


class ComparisonOpener(QObject):
    """Opens one comparison per endpoint."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._open: dict[int, ComparisonDialog] = {}

    @Slot(object)
    def open(self, endpoint: Endpoint) -> None:
        """Open it, or bring it to the front."""
        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is None or compare_refusal(current) is not None:
            return
        dialog = self._open.get(endpoint.id)
        if dialog is None:
            dialog = ComparisonDialog(current, self._services, self._theme, self._tasks, self._window)
            self._open[endpoint.id] = dialog
            dialog.finished.connect(partial(self._closed, endpoint.id))
            dialog.show()
        else:
            dialog.raise_()
            dialog.activateWindow()

    @Slot()
    def follow_endpoints(self) -> None:
        for dialog in list(self._open.values()):
            dialog.follow_endpoint()

    def stop(self) -> None:
        """Close all, before the program ends."""
        for dialog in list(self._open.values()):
            dialog.reject()

    def _closed(self, endpoint_id: int, _: int = 0) -> None:
        self._open.pop(endpoint_id, None)
