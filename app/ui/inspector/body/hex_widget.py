"""A hex view for bodies of any size: only visible rows are read and painted. A wider pane has longer rows."""

from __future__ import annotations

from collections import OrderedDict

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.core.bodies.formats.binary import HexRow, hex_rows, offset_digits, row_count, row_text
from app.ui.inspector.body.body_source import BodySource, of_bytes
from app.ui.inspector.body.text_style import TextSize
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.notices import Toast

PAGE = 64 * 1024
PAGES_KEPT = 32
COPY_MAX = 1024 * 1024
_GAP = 16
GROUP = 8
"""Bytes between two gaps."""
COLUMNS = (32, 16, 8)
"""Bytes of a row: the most that fit, or else the fewest."""


class HexWidget(QAbstractScrollArea):
    """`show_source` shows a body. Dragging selects rows, Ctrl+C copies them."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget, name: str = "Body as hexadecimal") -> None:
        super().__init__(parent)
        self._theme = theme
        self._tasks = tasks
        self._source = of_bytes(b"", "")
        self._pages: OrderedDict[int, bytes] = OrderedDict()
        self._latest = Latest(self, tasks, "hex view: read")
        self._selection: tuple[int, int] | None = None
        self._marked: tuple[int, int] | None = None
        self.columns = COLUMNS[-1]
        """Bytes of a row."""
        self.notices = Toast(theme, self)
        self._text_size = TextSize(self, theme.body_text, self._set_font)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for signal in (self.verticalScrollBar().valueChanged, self.horizontalScrollBar().valueChanged, theme.changed):
            signal.connect(self.viewport().update)

    def show_source(self, source: BodySource) -> None:
        """Show this body from its beginning."""
        self._latest.stop()
        self._source = source
        self._pages.clear()
        self._selection = self._marked = None
        self.verticalScrollBar().setValue(0)
        self._set_columns()
        self.viewport().update()

    def mark(self, place: tuple[int, int] | None) -> None:
        """Mark these bytes (offset and length) and scroll to them; None clears."""
        self._marked = place
        if place is not None:
            row, visible = place[0] // self.columns, self._visible_rows()
            if not 0 <= row - self.verticalScrollBar().value() < visible:
                self.verticalScrollBar().setValue(max(0, row - visible // 2))
        self.viewport().update()

    def sizeHint(self) -> QSize:
        """Wide enough for a row of sixteen."""
        return QSize(self._width(2 * GROUP), 200)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_columns()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the visible rows that are loaded, and request the others."""
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), QColor(self._theme.tokens.surface))
        painter.setFont(self._mono)
        painter.translate(metrics.SPACE_4 - self.horizontalScrollBar().value(), metrics.SPACE_2)
        first = self.verticalScrollBar().value()
        last = min(row_count(self._source.size, self.columns), first + self._visible_rows() + 1)
        missing: list[int] = []
        for row in range(first, last):
            page = row * self.columns // PAGE
            data = self._pages.get(page)
            if data is None:
                if page not in missing:
                    missing.append(page)
                continue
            start = row * self.columns - page * PAGE
            data = data[start : start + self.columns]
            found = hex_rows(data, row * self.columns, self._source.size, self.columns)
            if found:
                self._paint_row(painter, (row - first) * self._row, found[0], row)
        if missing:
            self._request_pages(missing)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to select rows."""
        if event.button() == Qt.MouseButton.LeftButton and self._source.size:
            row, extends = self._row_at(event), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self._selection = (self._selection[0] if extends and self._selection else row, row)
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Extend the selection."""
        if event.buttons() & Qt.MouseButton.LeftButton and self._selection is not None:
            self._selection = (self._selection[0], self._row_at(event))
            self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll, select all, copy."""
        bar = self.verticalScrollBar()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll) and self._source.size:
            self._selection = (0, row_count(self._source.size, self.columns) - 1)
            self.viewport().update()
        elif event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Copy the selected rows to the clipboard, in rows of sixteen."""
        if self._selection is not None:
            first, last = sorted(self._selection)
            length = (last + 1 - first) * self.columns
            self._tasks.start(self._copy(self._source, first * self.columns, length), "hex view: copy")

    async def _copy(self, source: BodySource, offset: int, length: int) -> None:
        data = await source.read(offset, min(length, COPY_MAX))
        rows = hex_rows(data, offset, source.size)
        QGuiApplication.clipboard().setText("\n".join(map(row_text, rows)))
        if length > COPY_MAX:
            self.notices.say("Copied the first 1 MiB of the selection.")

    def _paint_row(self, painter: QPainter, top: int, row: HexRow, number: int) -> None:
        tokens = self._theme.tokens
        if self._selection and min(self._selection) <= number <= max(self._selection):
            width = self._width(self.columns)
            painter.fillRect(QRect(-metrics.SPACE_1, top, width, self._row), QColor(tokens.selection))
        self._paint_marks(painter, top, number)
        base, x = top + self._ascent + 1, 0
        painter.setPen(QColor(tokens.text_faint))
        painter.drawText(x, base, row.offset)
        x += len(row.offset) * self._char + _GAP
        text = QColor(tokens.text)
        zero = QColor(tokens.track)
        for at, cell in enumerate(row.cells):
            painter.setPen(zero if cell == "00" else text)
            painter.drawText(x + self._chars(at) * self._char, base, cell)
        painter.setPen(QColor(tokens.code_string))
        painter.drawText(self._ascii_at(self.columns), base, row.ascii)

    def _paint_marks(self, painter: QPainter, top: int, row: int) -> None:
        """Paint the background of the marked bytes, on both sides."""
        if self._marked is None:
            return
        begin = row * self.columns
        first = max(self._marked[0], begin) - begin
        last = min(sum(self._marked), begin + self.columns) - begin
        cells = offset_digits(self._source.size) * self._char + _GAP
        ascii_at = self._ascii_at(self.columns)
        colour = QColor(self._theme.tokens.warning_soft)
        for at in range(first, last):
            x = cells + self._chars(at) * self._char
            painter.fillRect(QRect(x - self._char // 2, top, 3 * self._char, self._row), colour)
            painter.fillRect(QRect(ascii_at + at * self._char, top, self._char, self._row), colour)

    def _request_pages(self, pages: list[int]) -> None:
        source = self._source

        async def read() -> None:
            for page in pages:
                self._pages[page] = await source.read(page * PAGE, PAGE)
                while len(self._pages) > PAGES_KEPT:
                    self._pages.popitem(last=False)
            self.viewport().update()

        self._latest.run(read)

    def _row_at(self, event: QMouseEvent) -> int:
        row = self.verticalScrollBar().value() + (int(event.position().y()) - metrics.SPACE_2) // self._row
        return max(0, min(row, row_count(self._source.size, self.columns) - 1))

    def _visible_rows(self) -> int:
        return max(1, (self.viewport().height() - 2 * metrics.SPACE_2) // self._row)

    def _chars(self, at: int) -> int:
        """The characters before the byte `at` of a row."""
        return at * 3 + at // GROUP

    def _ascii_at(self, columns: int) -> int:
        """Pixels before the characters of a row."""
        return (offset_digits(self._source.size) + self._chars(columns - 1) + 2) * self._char + 2 * _GAP

    def _width(self, columns: int) -> int:
        return self._ascii_at(columns) + columns * self._char + metrics.SPACE_3

    def _set_columns(self) -> None:
        """The first byte in view stays there, and the rows that are selected stay so."""
        bar, side, width = self.verticalScrollBar(), self.horizontalScrollBar(), self.viewport().width()
        columns = next((one for one in COLUMNS if self._width(one) <= width - metrics.SPACE_3), COLUMNS[-1])
        before, top = self.columns, bar.value() * self.columns
        self.columns = columns
        if self._selection is not None and columns != before:
            first, last = sorted(self._selection)
            self._selection = first * before // columns, ((last + 1) * before - 1) // columns
        bar.setRange(0, max(0, row_count(self._source.size, columns) - self._visible_rows()))
        bar.setPageStep(self._visible_rows())
        side.setRange(0, max(0, self._width(columns) + metrics.SPACE_3 - width))
        side.setPageStep(width)
        if columns != before:
            bar.setValue(top // columns)

    def _set_font(self, font: QFont) -> None:
        self._mono = font
        fm = QFontMetrics(font)
        self._row, self._char = fm.height() + 3, fm.horizontalAdvance("0")
        self._ascent = fm.ascent()
        self.setFont(font)
        self._set_columns()
        self.viewport().update()
