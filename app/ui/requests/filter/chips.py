"""A filter's terms as small buttons that remove their term."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import label, plain_tooltip
from app.ui.widgets.painted import PaintedButton

CHIPS_MAX = 12
TEXT_MAX = 200
"""Maximum width in pixels of the text of a chip."""
HEIGHT, GAP, CROSS = 22, 6, 8


class ChipButton(PaintedButton):
    """One term; a click, Enter, Delete or Backspace removes it."""

    def __init__(self, term: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._font = mono_font(11)
        fm = QFontMetrics(self._font)
        self._text = fm.elidedText(escape(term), Qt.TextElideMode.ElideMiddle, TEXT_MAX)
        self._size = QSize(fm.horizontalAdvance(self._text) + 9 + 7 + CROSS + 8, HEIGHT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(f"Remove {escape(term)}")
        self.setToolTip(plain_tooltip(f"Remove {escape(term)}"))

    def sizeHint(self) -> QSize:
        return self._size

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete and Backspace remove the term, too."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, rect = self.theme.tokens, self.rect()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(tokens.accent) if self.ringed else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent_soft))
        painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), 10, 10)
        painter.setFont(self._font)
        painter.setPen(QColor(tokens.accent_text))
        painter.drawText(rect.adjusted(9, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self._text)
        cross = QRect(rect.right() - 7 - CROSS, rect.center().y() - CROSS // 2 + 1, CROSS, CROSS)
        painter.setPen(QColor(tokens.text if self.underMouse() else tokens.accent_text))
        cross.adjust(1, 1, -1, -1)
        painter.drawLine(cross.topLeft(), cross.bottomRight())
        painter.drawLine(cross.bottomLeft(), cross.topRight())


class ChipRow(QWidget):
    """Chips side by side, on as many lines as they need. `removed` carries the index of the term."""

    removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[ChipButton] = []
        self._terms: list[str] = []
        self._more = label("", "faint", self)
        self.hide()

    def show_terms(self, terms: Sequence[str]) -> None:
        """Show these terms; an empty list hides the row."""
        if list(terms) == self._terms:
            return
        self._terms = list(terms)
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self.chips = []
        for term in self._terms[:CHIPS_MAX]:
            chip = ChipButton(term, self._theme, self)
            chip.clicked.connect(self._clicked)
            chip.show()
            self.chips.append(chip)
        rest = len(self._terms) - CHIPS_MAX
        self._more.setText(f"and {rest} more" if rest > 0 else "")
        self._more.adjustSize()
        self._place()
        self.setVisible(bool(terms))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the lines again."""
        super().resizeEvent(event)
        self._place()

    @Slot()
    def _clicked(self) -> None:
        chip = self.sender()
        if chip in self.chips:
            self.removed.emit(self.chips.index(chip))

    def _place(self) -> None:
        x, y = 0, 0
        for item in (*self.chips, self._more):
            size = item.sizeHint()
            if x and x + size.width() > self.width():
                x, y = 0, y + HEIGHT + GAP
            item.setGeometry(x, y, min(size.width(), max(1, self.width())), HEIGHT)
            x += size.width() + GAP
        self.setFixedHeight(y + HEIGHT)
        self._more.setVisible(bool(self._more.text()))
