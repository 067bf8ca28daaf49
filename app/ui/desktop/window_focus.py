"""What the user is looking at: whether Hookline is active, and which endpoint's requests it lists."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget


class ListingPage(Protocol):
    """A page that lists the requests of one endpoint, or of all (None)."""

    @property
    def endpoint_id(self) -> int | None: ...
    def isVisible(self) -> bool: ...


class WindowFocus(QObject):
    """`activated` follows when one of Hookline's windows becomes active after another program's."""

    activated = Signal()

    def __init__(self, window: QWidget, page: ListingPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._page = window, page
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.applicationStateChanged.connect(self._changed)

    def in_front(self) -> bool:
        """Whether a window of Hookline is active, including dialogs."""
        active = QApplication.activeWindow()
        # A window that is hidden while it is being activated stays the active one.
        return active is not None and active.isVisible()

    def shows(self, endpoint_id: int) -> bool:
        """Whether the window is active and lists this endpoint's requests."""
        listed = self._page.isVisible() and not self._window.isMinimized()
        return self.in_front() and listed and self._page.endpoint_id in (None, endpoint_id)

    @Slot(Qt.ApplicationState)
    def _changed(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self.activated.emit()
