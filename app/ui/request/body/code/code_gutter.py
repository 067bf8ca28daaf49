"""The strip beside lines of code: their numbers, and arrows that fold what is indented below them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.ui.request.body.code.code_folds import CodeFolds
from app.ui.request.body.code.code_rows import CodeRows
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

ARROWS = 16
"""Width in pixels of the column with the arrows."""
GAP = 8


class CodeGutter(QWidget):
    """At the left edge of the view that `rows` belongs to."""

    def __init__(self, rows: CodeRows, folds: CodeFolds, theme: Theme) -> None:
        super().__init__(rows.view)
        self._rows, self._folds, self._theme = rows, folds, theme
        self._hovered = -1
        self.setMouseTracking(True)
        rows.view.updateRequest.connect(self._follow)

    def needed_width(self) -> int:
        """The width in pixels."""
        digits = max(2, len(str(self._rows.last_number())))
        arrows = ARROWS if self._folds.possible else 0
        return GAP + QFontMetrics(self._rows.view.font()).horizontalAdvance("0") * digits + GAP + arrows

    def place(self) -> None:
        area = self._rows.view.contentsRect()
        self.setGeometry(QRect(area.left(), area.top(), self.needed_width(), area.height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint line numbers, an arrow for continuations, and arrows that fold."""
        painter, tokens, exposed = QPainter(self), self._theme.tokens, event.rect()
        painter.fillRect(exposed, QColor(tokens.surface))
        painter.setFont(self._rows.view.font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        arrows = ARROWS if self._folds.possible else 0
        width, height = self.width() - GAP - arrows, self._theme.body_text.line_height
        metrics = QFontMetrics(self._rows.view.font())
        above = max(0, height - metrics.height())
        for row, top in self._rows.visible_rows(exposed.bottom()):
            line = self._rows.line_of(row)
            painter.setPen(QColor(tokens.text_faint))
            text = self._rows.number_text(line)
            painter.drawText(QRectF(0, top + above, width, metrics.height()), Qt.AlignmentFlag.AlignRight, text)
            if self._folds.can_fold(line):
                self._paint_arrow(
                    painter, tokens, line, QPointF(self.width() - ARROWS / 2 - 2, top + above + metrics.height() / 2)
                )

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold or unfold if there is an arrow."""
        line = self._line_at(event)
        if event.button() == Qt.MouseButton.LeftButton and self._folds.can_fold(line):
            self._folds.toggle(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand cursor and a tooltip over an arrow."""
        line = self._line_at(event)
        can = self._folds.can_fold(line)
        self.setCursor(Qt.CursorShape.PointingHandCursor if can else Qt.CursorShape.ArrowCursor)
        if line != self._hovered:
            self._hovered = line
            text = ("Unfold" if self._folds.is_folded(line) else "Fold") if can else ""
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = -1
        self.update()

    def _line_at(self, event: QMouseEvent) -> int:
        y = event.position().y()
        above = [row for row, top in self._rows.visible_rows(int(y)) if top <= y]
        return self._rows.line_of(above[-1]) if above else -1

    def _paint_arrow(self, painter: QPainter, tokens: Tokens, line: int, middle: QPointF) -> None:
        folded = self._folds.is_folded(line)
        strong = folded or line == self._hovered
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.text_muted if strong else tokens.text_faint))
        across = [(-2.0, -4.0), (-2.0, 4.0), (3.0, 0.0)] if folded else [(-4.0, -2.0), (4.0, -2.0), (0.0, 3.0)]
        painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in across]))

    @Slot(QRect, int)
    def _follow(self, rect: QRect, dy: int) -> None:
        if dy:
            self.scroll(0, dy)
        else:
            self.update(0, rect.y(), self.width(), rect.height())
