"""The tray icon's menu: show the window, unread requests, pause, new endpoint, quit."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.core.bodies.escape import escape
from app.ui.desktop.text import NAME_MAX, menu_text, shortened
from app.ui.desktop.unread_count import Unread
from app.ui.pause import Pause

ENDPOINTS = 5
"""Maximum number of endpoints with unread requests in the menu, newest first. Each entry opens the endpoint's list."""


class TrayMenu(QMenu):
    """Entries are updated in place: on some desktops an open menu closes when it is rebuilt."""

    show_requested = Signal()
    endpoint_requested = Signal(str)
    new_endpoint_requested = Signal()
    quit_requested = Signal()

    def __init__(self, unread: Unread, pause: Pause, parent: QWidget) -> None:
        super().__init__(parent)
        self._unread, self._pause = unread, pause
        shows = self.addAction("Show Hookline")
        shows.triggered.connect(self.show_requested)
        self.setDefaultAction(shows)
        self._above = self.addSeparator()
        self._endpoints = [self.addAction("") for _ in range(ENDPOINTS)]
        self.addSeparator()
        self._hold = self.addAction("Pause")
        self._hold.triggered.connect(self._toggle)
        self.addAction("New endpoint…").triggered.connect(self.new_endpoint_requested)
        self.addSeparator()
        self.addAction("Quit Hookline").triggered.connect(self.quit_requested)
        self.triggered.connect(self._chosen)
        unread.changed.connect(self.refresh)
        pause.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self._hold.setText("Resume" if self._pause.on else "Pause")
        found = self._unread.newest(ENDPOINTS)
        self._above.setVisible(bool(found))
        for place, action in enumerate(self._endpoints):
            action.setVisible(place < len(found))
            if place < len(found):
                endpoint, unread = found[place]
                name = shortened(escape(endpoint.name), NAME_MAX)
                action.setText(menu_text(f"{name}: {unread:,} unread"))
                action.setData(endpoint.slug)

    @Slot()
    def _toggle(self) -> None:
        self._pause.toggle()

    @Slot(QAction)
    def _chosen(self, action: QAction) -> None:
        if action.data():
            self.endpoint_requested.emit(action.data())
