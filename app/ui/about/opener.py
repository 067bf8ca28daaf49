"""Opens the About dialog over the window, once, and adds it to the system's menus."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.ui.about.dialog import AboutDialog
from app.ui.commands.command import Command
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme


class AboutOpener(QObject):
    """`command` opens the dialog; macOS moves it into the application's menu by its role."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._dialog: AboutDialog | None = None
        self.command = Command("About Hookline", theme, self, run=self.open, icon="info")
        self.command.setMenuRole(QAction.MenuRole.AboutRole)

    @Slot()
    def open(self) -> None:
        """Open it, unless it is open already."""
        if self._dialog is None:
            self._dialog = AboutDialog(self._services, self._theme, self._tasks, self._window)
            self._dialog.finished.connect(self._closed)
            self._dialog.open()

    @Slot()
    def _closed(self) -> None:
        self._dialog = None
