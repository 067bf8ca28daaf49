"""The system's tray, behind a `Protocol`: many desktops have none, and one may come or go while Hookline runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

IS_MAC = sys.platform == "darwin"
_CLICKS = (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick)


class Tray(Protocol):
    """Where the icon stands. `tell` shows a message beside it where `can_tell` says so.

    `clicked` and `message_clicked` are called for a click on the icon and on the newest message.
    """

    def available(self) -> bool: ...
    def open(self, menu: QMenu, clicked: Callable[[], None], message_clicked: Callable[[], None]) -> None: ...
    def show(self, icon: QIcon, tooltip: str) -> None: ...
    def hide(self) -> None: ...
    def can_tell(self) -> bool: ...
    def tell(self, title: str, text: str) -> None: ...


class SystemTray(QObject):
    """Qt's own. On macOS a click opens the menu and does nothing else, as all do there."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._icon: QSystemTrayIcon | None = None
        self._menu: QMenu | None = None
        self._clicked: Callable[[], None] = _nothing
        self._message_clicked: Callable[[], None] = _nothing

    def available(self) -> bool:
        """Whether there is a tray now."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def open(self, menu: QMenu, clicked: Callable[[], None], message_clicked: Callable[[], None]) -> None:
        """Take these from now on."""
        self._menu, self._clicked, self._message_clicked = menu, clicked, message_clicked

    def show(self, icon: QIcon, tooltip: str) -> None:
        """Show the icon, or change it."""
        tray = self._icon
        if tray is None:
            # Made only now: Qt looks once, when it is made, for the kind of tray there is.
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
        """Take the icon away; a tray that comes back is another one."""
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None

    def can_tell(self) -> bool:
        """Whether messages would be shown now."""
        return self._icon is not None and QSystemTrayIcon.supportsMessages()

    def tell(self, title: str, text: str) -> None:
        """Show a message for as long as the system likes, without a sound of ours."""
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
    """Until there is somebody to tell."""
