"""Tables and lists of records: columns say what a cell shows or paints, the views have what such tables share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.labels import plain_tooltip

NONE = "—"
"""The text of a cell without a value."""
TOOLTIP_MAX = 2_000
"""Characters of a cell that its tooltip shows."""
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()
_TEXT_MARGIN = 3
"""Pixels that Qt leaves beside a cell's text."""


@dataclass(frozen=True)
class Column(Generic[R]):
    """`text` is one line. The tooltip is the text again unless `tooltip` says more; `title_tip` is that of the title.
    `spoken` is what screen readers say instead of the text.

    `paint` paints something else in the place of the text, except where that is `NONE`.

    In pixels: `width` is what the column begins with (0: what Qt gives it), and views narrower than `needs` hide it.
    One that `stretches` has what the others leave.
    """

    title: str
    text: Callable[[R], str]
    tooltip: Callable[[R], str] | None = None
    paint: Callable[[QPainter, QRect, R], None] | None = None
    title_tip: str = ""
    align: Qt.AlignmentFlag = LEFT
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    font: QFont | None = None
    spoken: Callable[[R], str] | None = None
    width: int = 0
    needs: int = 0
    stretches: bool = False


def no_tooltip(record: object) -> str:
    """For a column whose cells say it all."""
    return ""


class Rows(QAbstractTableModel, Generic[R]):
    """A record in each row."""

    def __init__(self, columns: Sequence[Column[R]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = columns
        self._rows: list[Any] = []

    def record(self, row: int) -> R:
        return self._rows[row]  # type: ignore[no-any-return]

    def records(self) -> list[R]:
        return [self.record(row) for row in range(len(self._rows))]

    def cell(self, record: R, column: int) -> str:
        """A cell's text, on one line."""
        return self.columns[column].text(record).replace("\n", " ")

    def set_records(self, records: Sequence[Any]) -> None:
        """Replace all rows; none stays selected."""
        self.beginResetModel()
        self._rows = list(records)
        self.endResetModel()

    def show_records(self, records: Sequence[Any], key: Callable[[Any], object]) -> None:
        """Replace all rows; those of the same key stay selected, unless their order changed."""
        keys = list(map(key, records))
        staying = set(keys)
        self.remove_rows([row for row, record in enumerate(self._rows) if key(record) not in staying])
        row = 0
        while row < len(records):
            here = key(self._rows[row]) if row < len(self._rows) else None
            if here == keys[row]:
                if self._rows[row] != records[row]:
                    self.replace_record(row, records[row])
                row += 1
            else:
                end = next((at for at in range(row, len(keys)) if keys[at] == here), len(keys))
                self.insert_records(row, records[row:end])
                row = end
        if len(self._rows) > row:
            self.remove_records(row, len(self._rows) - row)

    def replace_record(self, row: int, record: Any) -> None:
        self._rows[row] = record
        self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))

    def insert_records(self, row: int, records: Sequence[Any]) -> None:
        self.beginInsertRows(NO_INDEX, row, row + len(records) - 1)
        self._rows[row:row] = records
        self.endInsertRows()

    def remove_records(self, row: int, count: int = 1) -> None:
        self.beginRemoveRows(NO_INDEX, row, row + count - 1)
        del self._rows[row : row + count]
        self.endRemoveRows()

    def remove_rows(self, rows: list[int]) -> None:
        """Remove these rows, in ascending order, adjacent ones together."""
        while rows:
            first = last = rows.pop()
            while rows and rows[-1] == first - 1:
                first = rows.pop()
            self.remove_records(first, last - first + 1)

    @Slot()
    def refresh_cells(self) -> None:
        """What the cells are made of has changed, or time has passed."""
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(self.columns) - 1))

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = self.columns[section]
        values = {
            Qt.ItemDataRole.DisplayRole: column.title,
            Qt.ItemDataRole.ToolTipRole: column.title_tip or None,
            Qt.ItemDataRole.TextAlignmentRole: column.align,
        }
        return values.get(Qt.ItemDataRole(role))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The cell's text, shown or spoken, its tooltip, its alignment or its font."""
        record, column = self.record(index.row()), self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(record, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column.align
        if role == Qt.ItemDataRole.FontRole:
            return column.font
        if role == Qt.ItemDataRole.AccessibleTextRole and column.spoken is not None:
            return column.spoken(record)
        if role == Qt.ItemDataRole.ToolTipRole:
            text = column.tooltip(record) if column.tooltip is not None else self.cell(record, index.column())
            return plain_tooltip(text[:TOOLTIP_MAX])
        return None


class RowsView(QTableView):
    """Rows are selected as a whole. `name` is what screen readers say of it, `part` what the style sheet calls it."""

    def __init__(self, name: str, parent: QWidget, part: str = "") -> None:
        super().__init__(parent)
        self._columns: Sequence[Column[Any]] = ()
        self.setProperty("part", part)  # first: a shown window's style sheet is read with the header below
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)

    def show_rows(self, rows: Rows[Any], row_height: int) -> None:
        self.setModel(rows)
        self.setItemDelegate(_Cells(rows, self))
        self.verticalHeader().setDefaultSectionSize(row_height)
        self._columns = rows.columns
        for number, column in enumerate(rows.columns):
            if column.stretches:
                self.horizontalHeader().setSectionResizeMode(number, QHeaderView.ResizeMode.Stretch)
            if column.width:
                self.setColumnWidth(number, column.width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the columns that it is too narrow for."""
        super().resizeEvent(event)
        for number, column in enumerate(self._columns):
            if column.needs:
                self.setColumnHidden(number, self.width() < column.needs)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Home and End go to the first and the last row. Where cells are edited they stay in the row."""
        ends = (QAbstractItemView.CursorAction.MoveHome, QAbstractItemView.CursorAction.MoveEnd)
        if action in ends and self.selectionMode() != QAbstractItemView.SelectionMode.NoSelection:
            row = 0 if action == QAbstractItemView.CursorAction.MoveHome else self.model().rowCount() - 1
            return self.model().index(row, max(0, self.currentIndex().column()))
        return super().moveCursor(action, modifiers)

    def selected_rows(self) -> list[int]:
        """From top to bottom. From the ranges of the selection: one index for each of 20,000 rows takes a quarter of a
        second.
        """
        ranges = self.selectionModel().selection()
        found = [ranges.at(number) for number in range(ranges.size())]
        return sorted({row for one in found for row in range(one.top(), one.bottom() + 1)})

    def menu_place(self, place: QPoint) -> QPoint:
        """Where on the screen a menu asked for at `place` opens: below the current row if a key asked for it."""
        if not self.viewport().rect().contains(place) or not self.indexAt(place).isValid():
            place = self.visualRect(self.currentIndex()).bottomLeft() + QPoint(metrics.SPACE_5, 0)
        return self.viewport().mapToGlobal(place)


class _Cells(QStyledItemDelegate):
    """The style paints the cells; those of a column with `paint` without their text."""

    def __init__(self, rows: Rows[Any], parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = self._rows.columns[index.column()].elide

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        content = self._rows.columns[index.column()].paint
        if content is None or index.data() == NONE:
            super().paint(painter, option, index)
            return
        cell = QStyleOptionViewItem(option)
        self.initStyleOption(cell, index)
        style = QApplication.style()
        place = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, cell, cell.widget)
        cell.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, cell, painter, cell.widget)
        content(painter, place.adjusted(_TEXT_MARGIN, 0, 0, 0), self._rows.record(index.row()))


def badge_place(place: QRect, width: int, height: int) -> QRect:
    """The rectangle of a badge at the left of a cell. The style's text rectangle leaves out the line below the row."""
    return QRect(place.left(), place.top() + (place.height() - height) // 2, width, height)


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
