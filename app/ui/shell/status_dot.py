"""A dot that says whether Hookline is listening."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme


class StatusDot(QWidget):
    """Filled and green while on, a hollow red ring while off: shape and colour."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._on = theme, False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._repaint)

    def set_on(self, on: bool) -> None:
        """On or off."""
        self._on = on
        self.setAccessibleName("Listening" if on else "Not listening")
        self.update()

    def sizeHint(self) -> QSize:
        """Small."""
        return QSize(8, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the dot."""
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.success_fill))
        else:
            painter.setPen(QPen(QColor(tokens.danger), 1.5))
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    @Slot()
    def _repaint(self) -> None:
        self.update()
