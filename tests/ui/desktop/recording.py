"""A tray and a notification service that note what they are given, and a window that has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QApplication, QMenu

from app.ui.desktop.notifications import NotificationTiming
from app.ui.shell.deep_links import DeepLinks
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import activate, settle


class RecordingTray(QObject):
    """A desktop's tray; `there` says whether the desktop has one, `messages` whether that shows any."""

    clicked = Signal()
    message_clicked = Signal()

    def __init__(self, *, there: bool = True, messages: bool = True) -> None:
        super().__init__()
        self.there, self.messages = there, messages
        self.icons: list[QIcon] = []
        self.tooltip: str | None = None
        """None while no icon is shown."""
        self.told: list[tuple[str, str]] = []
        self.menu: QMenu

    def available(self) -> bool:
        return self.there

    def show(self, icon: QIcon, tooltip: str) -> None:
        self.icons.append(icon)
        self.tooltip = tooltip

    def hide(self) -> None:
        self.tooltip = None

    def can_show_message(self) -> bool:
        return self.messages and self.tooltip is not None

    def show_message(self, title: str, text: str) -> None:
        self.told.append((title, text))

    def entries(self) -> list[str]:
        """What the menu says, top to bottom."""
        return [action.text() for action in self.menu.actions() if action.isVisible() and not action.isSeparator()]

    def entry(self, text: str) -> QAction:
        return next(action for action in self.menu.actions() if action.isVisible() and action.text() == text)


class TrayDesk:
    """A window with a tray. `ended` counts how often it asked for the end of the program."""

    def __init__(self, desk: Desk, tray: RecordingTray) -> None:
        self.desk, self.tray, self.ended = desk, tray, 0
        self.window = desk.window(self._end, tray=tray)
        self.wishes = DeepLinks(desk.services, desk.tasks, self.window)
        self.window.desktop.launch_requested.connect(self.wishes.handle)
        self.window.desktop.notices.timing = NotificationTiming(gather_ms=30, quiet_ms=60, longest_ms=200)

    def _end(self) -> None:
        self.ended += 1


@asynccontextmanager
async def with_tray(folder: Path, tray: RecordingTray | None = None, **store: Any) -> AsyncIterator[TrayDesk]:
    """The window is shown; it has quit when this ends."""
    for left in QApplication.topLevelWidgets():
        left.hide()  # what another test did not close would be in front
    async with open_desk(folder, **store) as desk:
        shown = TrayDesk(desk, tray or RecordingTray())
        shown.window.show()
        await activate(shown.window)
        await settle()
        try:
            yield shown
        finally:
            shown.window.quit()
            shown.window.hide()
            await desk.tasks.cancel_all()
            shown.window.deleteLater()
            await settle()
