"""The base of rows that are buttons and paint themselves: hover, Enter, and a focus ring for keyboard focus."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.theme.theme import Theme
from app.ui.widgets.focus import by_keyboard, is_enter


class PaintedButton(QAbstractButton):
    """Repaints on hover and when the theme changes. `ringed` says whether to draw the focus ring."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._by_keyboard = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    @property
    def ringed(self) -> bool:
        """Whether the button has the focus and got it by a key, not by a click or with the window."""
        return self.hasFocus() and self._by_keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Remember how the focus was given."""
        self._by_keyboard = by_keyboard(event)
        super().focusInEvent(event)
