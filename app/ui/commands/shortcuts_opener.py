"""Opens the cheat sheet over the window, once."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.registry import CommandRegistry
from app.ui.commands.shortcuts_dialog import ShortcutsDialog
from app.ui.theme.theme import Theme


class ShortcutsOpener(QObject):
    """The sheet is made of the book as it is when it opens."""

    def __init__(self, book: CommandRegistry, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._book, self._theme, self._window = book, theme, window
        self._sheet: ShortcutsDialog | None = None

    @Slot()
    def open(self) -> None:
        """Open it, once."""
        if self._sheet is None:
            self._sheet = ShortcutsDialog(self._book, self._theme, self._window)
            self._sheet.finished.connect(self._closed)
            self._sheet.open()

    @Slot()
    def _closed(self) -> None:
        self._sheet = None
