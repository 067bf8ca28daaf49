"""Commands for the text size and wrapping of bodies, in every window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction

from app.ui.commands.registry import command
from app.ui.theme.body_text import LARGEST, SMALLEST, BodyTextStyle
from app.ui.theme.fonts import BASE


class BodyTextCommands(QObject):
    """Add `actions` to a window to make their keys work there."""

    def __init__(self, text: BodyTextStyle, parent: QObject) -> None:
        super().__init__(parent)
        self._text = text
        self._larger = command("Zoom in", "zoom-in", text.zoom_in, self, "Ctrl++", "Ctrl+=")
        self._smaller = command("Zoom out", "zoom-out", text.zoom_out, self, "Ctrl+-")
        self._reset = command("Reset zoom", "search", text.reset_zoom, self, "Ctrl+0")
        wrap = command("Wrap long lines", "wrap", text.toggle_wrap, self, "Alt+Z")
        self.actions: tuple[QAction, ...] = (self._larger, self._smaller, self._reset, wrap)
        text.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Enable what can be done now."""
        self._larger.setEnabled(self._text.size < LARGEST)
        self._smaller.setEnabled(self._text.size > SMALLEST)
        self._reset.setEnabled(self._text.size != BASE)
