"""The line the palette is typed into; the keys that move in a list go to the list below it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

PLACEHOLDER = "Search commands, endpoints and requests"
LENGTH_MAX = 2_000
_STAYS = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
"""The focus comes back by itself: another window is in front, or a menu is open."""


class PaletteField(QLineEdit):
    """Never leads elsewhere by Tab."""

    moved = Signal(object)
    """The key that was pressed, one of those that move in a list."""
    entered = Signal()
    left = Signal()
    """Esc."""
    lost = Signal()
    """Something else has the keyboard now."""

    _moving = {
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
    }

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("frameless", True)
        self.setPlaceholderText(PLACEHOLDER)
        self.setAccessibleName(PLACEHOLDER)
        self.setMaxLength(LENGTH_MAX)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, run, leave, or type."""
        key = Qt.Key(event.key())
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif key in self._moving:
            self.moved.emit(key)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, onward: bool) -> bool:
        """There is nowhere else to go."""
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell of it, unless it comes back by itself."""
        super().focusOutEvent(event)
        if event.reason() not in _STAYS:
            self.lost.emit()
