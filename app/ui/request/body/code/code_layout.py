"""Lays out lines of code with a fixed line height, and wraps them at their indentation.

Qt's plain-text layout supports neither, and redoes every block without lines. So Qt lays out a block first, which keeps
its line count and maximum width, and then it is laid out again here before it is shown.
"""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFontMetricsF, QTextBlock, QTextLine
from PySide6.QtWidgets import QPlainTextEdit

from app.ui.request.body.code.code_rows import CodeRows
from app.ui.theme.body_text import BodyTextStyle

DEEPEST_SHARE = 0.5
"""Maximum indentation of a continuation, as a share of the width."""
ANY_WIDTH = 1e7
"""Pixels of lines that are not wrapped."""
TOP = 0.25
"""Pixels above the first line; they mark a block as laid out here."""
AROUND = 60
"""Rows on either side of a target that are laid out before scrolling to it."""


class CodeLayout:
    """Call `lay_out` for the rows about to be shown, then `lay_out_end`."""

    def __init__(self, rows: CodeRows, text: BodyTextStyle) -> None:
        self._rows, self._text = rows, text
        self._size_changed = False

    def lay_out(self, block: QTextBlock) -> None:
        view = self._rows.view
        view.document().documentLayout().blockBoundingRect(block)
        layout = block.layout()
        count = layout.lineCount()
        if not count or layout.lineAt(0).y() != 0:
            return
        columns, continued = self._rows.indent(self._rows.line_of(block.blockNumber()))
        margin = view.document().documentMargin()
        wraps = view.lineWrapMode() != QPlainTextEdit.LineWrapMode.NoWrap
        width = view.viewport().width() - 2 * margin if wraps else ANY_WIDTH
        indent = min(columns * QFontMetricsF(view.font()).horizontalAdvance(" "), width * DEEPEST_SHARE)
        layout.beginLayout()
        number = 0
        while (line := layout.createLine()).isValid():
            begin = indent if number or continued else 0.0
            line.setLineWidth(max(1.0, width - begin))
            line.setPosition(QPointF(margin + begin, self._top(line, number)))
            number += 1
        layout.endLayout()
        if number != count:
            block.setLineCount(number)
        self._size_changed = True

    def lay_out_around(self, row: int) -> None:
        """Before scrolling to a position, so that it ends up where intended."""
        view = self._rows.view
        first = max(0, row - AROUND)
        for number in range(first, min(view.blockCount(), first + 2 * AROUND)):
            self.lay_out(view.document().findBlockByNumber(number))
        self.lay_out_end()

    def lay_out_end(self) -> None:
        """Qt derives the scroll range from the height of the last page."""
        view = self._rows.view
        rows, block = view.viewport().height() // self._text.line_height + 2, view.document().lastBlock()
        while rows and block.isValid():
            self.lay_out(block)
            block, rows = block.previous(), rows - 1
        if self._size_changed:
            self._size_changed = False
            layout = view.document().documentLayout()
            layout.documentSizeChanged.emit(layout.documentSize())

    def _top(self, line: QTextLine, number: int) -> float:
        """Makes the block end at its last line: Qt uses the height of the text in it."""
        height = self._text.line_height
        return number * height + max(TOP, height - ceil(line.height()))
