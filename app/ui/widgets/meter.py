"""Shows how much of a limit is used."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme

LEAST = 24
"""Pixels; a shorter one would look like a dash behind the figure, and is not painted."""


class Meter(QWidget):
    """A thin bar, filled in proportion to use; amber when full, empty without a limit. `name` says what is used."""

    accessible_role = QAccessible.Role.ProgressBar

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._theme = name, theme
        self._used, self._limit = 0, 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def set_use(self, used: int, limit: int) -> None:
        """A `limit` of 0 means no limit."""
        self._used, self._limit = used, limit
        share = f"{used * 100 // limit}% used" if limit else "no limit"
        self.setAccessibleName(f"{self._name}: {share}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.width() < LEAST:
            return
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        rect = QRectF(self.rect())
        painter.setBrush(QColor(tokens.border_strong))
        painter.drawRoundedRect(rect, 2, 2)
        if self._limit and self._used:
            rect.setWidth(max(4.0, rect.width() * min(1.0, self._used / self._limit)))
            painter.setBrush(QColor(tokens.warning_fill if self._used >= self._limit else tokens.accent))
            painter.drawRoundedRect(rect, 2, 2)
