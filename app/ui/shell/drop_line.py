"""The line that shows where a dragged endpoint would be dropped."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme

_HEIGHT, _RING = 8, 2.5


class DropLine(QWidget):
    """Lies over the rows and ignores clicks."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, y: int) -> None:
        """Show it around this height of the parent."""
        holder = self.parentWidget()
        assert holder is not None
        self.setGeometry(metrics.SPACE_1, y - _HEIGHT // 2, holder.width() - 2 * metrics.SPACE_1, _HEIGHT)
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A ring and a line, in the accent."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.tokens.accent), 2))
        middle = QRectF(self.rect()).center().y()
        painter.drawEllipse(QPointF(_RING + 1, middle), _RING, _RING)
        painter.drawLine(QPointF(2 * _RING + 2, middle), QPointF(self.width() - 2, middle))
