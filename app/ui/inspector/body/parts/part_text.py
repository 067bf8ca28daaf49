"""The first lines of a part: wrapped, coloured and with a filter's words marked, for looking at only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QWidget

from app.core.bodies.formatter import Line
from app.ui.inspector.body.code.code_rows import qt_spans, utf16
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme

ROWS_MAX = 12


class PartText(QWidget):
    """`lay_out` for a width comes first. `cut`: there is more than what is shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: Sequence[Line] = ()
        self._layouts: list[QTextLayout] = []
        self._pattern: re.Pattern[str] | None = None
        self._width = 0
        self.cut = False
        theme.changed.connect(self._restyle)

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show the first of these lines."""
        self._lines = lines

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern."""
        self._pattern = pattern
        self._restyle()

    def lay_out(self, width: int) -> None:
        """Wrap at this width, and set the height."""
        self._width = width
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        height, rows = self._theme.body_text.line_height, 0
        self._layouts, self.cut = [], len(self._lines) > ROWS_MAX
        for line in self._lines[:ROWS_MAX]:
            layout = QTextLayout(line.text, mono_font(self._theme.body_text.size))
            layout.setTextOption(option)
            layout.setFormats(list(self._formats(line)))
            layout.beginLayout()
            end = 0
            while rows < ROWS_MAX and (row := layout.createLine()).isValid():
                row.setLineWidth(width)
                row.setPosition(QPointF(0, rows * height))
                end = row.textStart() + row.textLength()
                rows += 1
            layout.endLayout()
            self.cut = self.cut or end < utf16(line.text)
            self._layouts.append(layout)
        self.setFixedHeight(rows * height)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.tokens.text))
        for layout in self._layouts:
            layout.draw(painter, QPointF(0, 0))

    @Slot()
    def _restyle(self) -> None:
        self.lay_out(self._width)

    def _formats(self, line: Line) -> Iterator[QTextLayout.FormatRange]:
        tokens = self._theme.tokens
        for start, length, kind in qt_spans(line):
            style = QTextCharFormat()
            colour = tokens.warning if kind == "control" else getattr(tokens, f"code_{kind}", tokens.text)
            style.setForeground(QColor(colour))
            yield _range(start, length, style)
        for match in self._pattern.finditer(line.text) if self._pattern is not None else ():
            style = QTextCharFormat()
            style.setBackground(QColor(tokens.warning_soft))
            yield _range(utf16(line.text[: match.start()]), utf16(match.group()), style)


def _range(start: int, length: int, style: QTextCharFormat) -> QTextLayout.FormatRange:
    result = QTextLayout.FormatRange()
    result.start, result.length, result.format = start, length, style
    return result
