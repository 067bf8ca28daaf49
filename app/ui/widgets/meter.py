"""How much of a limit is used."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme


class Meter(QWidget):
    """A thin bar, filled as far as used; amber when full. No limit shows it empty. `name` says what is used."""

    accessible_role = QAccessible.Role.ProgressBar

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._theme = name, theme
        self._used, self._limit = 0, 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._repaint)

    def set_use(self, used: int, limit: int) -> None:
        """`limit` 0 stands for none."""
        self._used, self._limit = used, limit
        share = f"{used * 100 // limit} % used" if limit else "no limit"
        self.setAccessibleName(f"{self._name}: {share}")
        self.update()

    def sizeHint(self) -> QSize:
        """A hairline's big brother."""
        return QSize(80, 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw track and fill."""
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

    @Slot()
    def _repaint(self) -> None:
        self.update()
