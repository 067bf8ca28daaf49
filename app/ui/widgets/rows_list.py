"""Lists of records whose rows are painted, such as those with two lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.rows import LEFT, Index, R, Rows


class RowsList(QListView, Generic[R]):
    """A list of the first column of `rows`: painted by it, or its text if it does not paint. `name` is what screen
    readers say of the list, `height` the pixels of a record. The rows of a `rounded` list have round corners.
    """

    def __init__(
        self,
        name: str,
        rows: Rows[R],
        height: int | Callable[[R], int],
        theme: Theme,
        parent: QWidget,
        *,
        rounded: bool = False,
    ) -> None:
        super().__init__(parent)
        if rounded:
            self.setProperty("part", "rounded")
        self._rows = rows
        self.setAccessibleName(name)
        self.setModel(rows)
        self.setItemDelegate(_PaintedRows(rows, height, theme, self, rounded=rounded))
        self.setUniformItemSizes(isinstance(height, int))
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        theme.changed.connect(self.viewport().update)

    def current_row(self) -> int:
        """-1 if there is none."""
        return self.currentIndex().row()

    def current_record(self) -> R | None:
        return self._rows.record(self.current_row()) if self.current_row() >= 0 else None

    def select_row(self, row: int) -> None:
        """Make it the current one; with -1 there is none."""
        self.setCurrentIndex(self.model().index(row, 0))


class _PaintedRows(QStyledItemDelegate):
    def __init__(
        self, rows: Rows[Any], height: int | Callable[[Any], int], theme: Theme, parent: QWidget, *, rounded: bool
    ) -> None:
        super().__init__(parent)
        self._rows, self._height, self._theme = rows, height, theme
        self._paint_ground = _rounded_ground if rounded else _ground

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        height = self._height
        return QSize(0, height if isinstance(height, int) else height(self._rows.record(index.row())))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        content = self._rows.columns[0].paint
        if content is None:
            super().paint(painter, option, index)
            return
        painter.save()
        if index.flags() & Qt.ItemFlag.ItemIsSelectable:
            self._paint_ground(painter, option, self._theme.tokens)
        content(painter, QRect(option.rect), self._rows.record(index.row()))
        painter.restore()


def _ground(painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> None:
    """Paint the background of a row: selected, under the pointer, with the focus."""
    place, state = option.rect, option.state
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        painter.fillRect(place, QColor(tokens.selection if selected else tokens.hover))
    if selected and state & QStyle.StateFlag.State_HasFocus:
        painter.fillRect(QRect(place.left(), place.top(), 3, place.height()), QColor(tokens.accent))


def _rounded_ground(painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> None:
    place, state = QRect(option.rect).adjusted(0, 1, 0, -1), option.state
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.selection if selected else tokens.hover))
        painter.drawRoundedRect(place, metrics.RADIUS, metrics.RADIUS)
    if selected and state & QStyle.StateFlag.State_HasFocus:
        painter.setPen(QColor(tokens.accent))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(place.adjusted(0, 0, -1, -1), metrics.RADIUS, metrics.RADIUS)


def paint_line(
    painter: QPainter,
    place: QRect,
    text: str,
    font: QFont,
    colour: str,
    *,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    align: Qt.AlignmentFlag = LEFT,
) -> int:
    """Paint `text` on one line, shortened to fit; returns the pixels that it takes."""
    fm = QFontMetrics(font)
    shown = fm.elidedText(text, elide, max(0, place.width()))
    painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(place, int(align | Qt.TextFlag.TextSingleLine), shown)
    return fm.horizontalAdvance(shown)
