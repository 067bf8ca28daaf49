"""The system tray and the menu of its icon. `Tray` is a `Protocol`: many desktops have no tray, and it may appear or
disappear while Hookline runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from app.core.bodies.escape import escape
from app.core.gist.words import shortened
from app.ui.desktop.text import NAME_MAX, menu_text
from app.ui.desktop.unread_count import UnreadCount
from app.ui.pause import Pause

IS_MAC = sys.platform == "darwin"
_CLICKS = (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick)


class Tray(Protocol):
    """A tray icon. `show_message` shows a message beside it if `can_show_message`.

    `clicked` and `message_clicked` are called for a click on the icon and on the newest message.
    """

    def available(self) -> bool: ...
    def open(self, menu: QMenu, clicked: Callable[[], None], message_clicked: Callable[[], None]) -> None: ...
    def show(self, icon: QIcon, tooltip: str) -> None: ...
    def hide(self) -> None: ...
    def can_show_message(self) -> bool: ...
    def show_message(self, title: str, text: str) -> None: ...


class SystemTray(QObject):
    """Qt's tray icon. On macOS a click only opens the menu, as is usual there."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._icon: QSystemTrayIcon | None = None
        self._menu: QMenu | None = None
        self._clicked: Callable[[], None] = _nothing
        self._message_clicked: Callable[[], None] = _nothing

    def available(self) -> bool:
        return QSystemTrayIcon.isSystemTrayAvailable()

    def open(self, menu: QMenu, clicked: Callable[[], None], message_clicked: Callable[[], None]) -> None:
        """Set the menu and the callbacks."""
        self._menu, self._clicked, self._message_clicked = menu, clicked, message_clicked

    def show(self, icon: QIcon, tooltip: str) -> None:
        """Show the icon, or update it."""
        tray = self._icon
        if tray is None:
            # Created late: Qt detects the kind of tray only once, on creation.
            tray = self._icon = QSystemTrayIcon(self)
            if self._menu is not None:
                tray.setContextMenu(self._menu)
            tray.activated.connect(self._activated)
            tray.messageClicked.connect(self._message)
        if icon.cacheKey() != tray.icon().cacheKey():
            tray.setIcon(icon)
        tray.setToolTip(tooltip)
        if not tray.isVisible():
            tray.show()

    def hide(self) -> None:
        """Remove the icon; a tray that returns needs a new one."""
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None

    def can_show_message(self) -> bool:
        """Whether messages can be shown now."""
        return self._icon is not None and QSystemTrayIcon.supportsMessages()

    def show_message(self, title: str, text: str) -> None:
        """Show a message for as long as the system likes, without a sound."""
        if self._icon is not None:
            self._icon.showMessage(title, text, self._icon.icon())

    @Slot(QSystemTrayIcon.ActivationReason)
    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in _CLICKS and not IS_MAC:
            self._clicked()

    @Slot()
    def _message(self) -> None:
        self._message_clicked()


def _nothing() -> None:
    """Placeholder until a callback is set."""


ENDPOINTS = 5
"""Maximum number of endpoints with unread requests in the menu, newest first. Each entry opens the endpoint's list."""


class TrayMenu(QMenu):
    """Entries are updated in place: on some desktops an open menu closes when it is rebuilt."""

    show_requested = Signal()
    endpoint_requested = Signal(str)
    new_endpoint_requested = Signal()
    quit_requested = Signal()

    def __init__(self, unread: UnreadCount, pause: Pause, parent: QWidget) -> None:
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
        self.triggered.connect(self._triggered)
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
    def _triggered(self, action: QAction) -> None:
        if action.data():
            self.endpoint_requested.emit(action.data())
