"""Opens the QR code of an endpoint, one at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Endpoint
from app.ui.qr.dialog import QrDialog
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme


class QrOpener(QObject):
    """`tunnel_requested`: the user asked to start the tunnel; `page_requested`: to see its page."""

    tunnel_requested = Signal()
    page_requested = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._dialog: QrDialog | None = None

    def open(self, endpoint: Endpoint) -> None:
        """Show the QR code of its capture URL."""
        self.close()
        self._dialog = QrDialog(self._services, self._theme, self._tasks, self._window, endpoint)
        self._dialog.tunnel_requested.connect(self.tunnel_requested)
        self._dialog.page_requested.connect(self.page_requested)
        self._dialog.finished.connect(self._closed)
        self._dialog.open()

    @Slot()
    def close(self) -> None:
        """Close it, if it is open."""
        if self._dialog is not None:
            self._dialog.reject()

    @Slot()
    def _closed(self) -> None:
        self._dialog = None
