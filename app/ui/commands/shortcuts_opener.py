"""Opens the shortcuts dialog over the window, once."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.registry import CommandRegistry
from app.ui.commands.shortcuts_dialog import ShortcutsDialog
from app.ui.theme.theme import Theme


class ShortcutsOpener(QObject):
    """The dialog lists the commands that the registry has when it opens."""

    def __init__(self, registry: CommandRegistry, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._registry, self._theme, self._window = registry, theme, window
        self._dialog: ShortcutsDialog | None = None

    @Slot()
    def open(self) -> None:
        if self._dialog is None:
            self._dialog = ShortcutsDialog(self._registry, self._theme, self._window)
            self._dialog.finished.connect(self._closed)
            self._dialog.open()

    @Slot()
    def _closed(self) -> None:
        self._dialog = None
