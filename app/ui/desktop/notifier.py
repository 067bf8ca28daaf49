"""Shows notifications through the system's notification service, or as messages of the tray icon."""

from __future__ import annotations

import sys
from typing import Protocol

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtGui import QGuiApplication

from app.ui.desktop.text import Notice
from app.ui.desktop.tray import Tray
from app.ui.tasks import Tasks

NONE_HERE = "Notifications are not available: this system has no tray."
NONE_ON_LINUX = "Notifications are not available: this desktop has neither a notification service nor a tray."


class NotificationService(Protocol):
    """A notification service. Both calls return False if it is not available."""

    @property
    def clicked(self) -> SignalInstance: ...
    @property
    def dismissed(self) -> SignalInstance: ...
    async def check(self) -> bool: ...
    async def show(self, notice: Notice) -> bool: ...


class Notifier(QObject):
    """`clicked` and `dismissed` carry the notice; `availability_changed` follows each check of the service."""

    clicked = Signal(object)
    dismissed = Signal(object)
    availability_changed = Signal()

    def __init__(self, tray: Tray, tasks: Tasks, service: NotificationService | None, parent: QObject) -> None:
        super().__init__(parent)
        self._tray, self._tasks, self._service = tray, tasks, service
        self._by_tray: Notice | None = None
        self._answers: bool | None = None if service else False
        if service is not None:
            service.clicked.connect(self.clicked)
            service.dismissed.connect(self.dismissed)

    def unavailable_reason(self) -> str | None:
        """Why no notification would be shown; None if it would, or if that is not known yet."""
        if self._answers is not False or self._tray.can_show_message():
            return None
        return NONE_ON_LINUX if self._service else NONE_HERE

    @Slot(object)
    def show(self, notice: Notice) -> None:
        """Show the notice, replacing an earlier one with the same key if the system can do that."""
        self._tasks.start(self._show(notice), "show a notification")

    @Slot()
    def check(self) -> None:
        """Check whether notifications can be shown."""
        if self._service is None:
            self.availability_changed.emit()
        else:
            self._tasks.start(self._check(self._service), "look for a notification service")

    @Slot()
    def tray_clicked(self) -> None:
        """The tray's message was clicked: it is always the last one."""
        if self._by_tray is not None:
            self.clicked.emit(self._by_tray)

    async def _check(self, service: NotificationService) -> None:
        self._answers = await service.check()
        self.availability_changed.emit()

    async def _show(self, notice: Notice) -> None:
        if self._service is not None:
            self._answers = await self._service.show(notice)
        if not self._answers and self._tray.can_show_message():
            self._by_tray = notice
            self._tray.show_message(notice.title, notice.text)


def system_service(parent: QObject) -> NotificationService | None:
    """The desktop's notification service, on Linux with a display. Elsewhere the tray's messages are."""
    if not sys.platform.startswith("linux") or QGuiApplication.platformName() not in ("xcb", "wayland"):
        return None
    # Qt's D-Bus module is not part of the packages for other systems.
    from app.ui.desktop.freedesktop import Freedesktop, session_bus

    return Freedesktop(session_bus(), parent)
