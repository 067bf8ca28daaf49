"""The headers of both responses, aligned by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.comparison.side_by_side import AlignedRow, RowKind
from app.ui.comparison.aligned_text import row_colours
from app.ui.request.tables.pairs_model import Index
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip

MARK, NAME, FIRST, SECOND = range(4)
MARKS = {
    RowKind.SAME: ("", "Same"),
    RowKind.CHANGED: ("≠", "Different"),
    RowKind.FIRST: ("-", "Only in the first response"),
    RowKind.SECOND: ("+", "Only in the second response"),
    RowKind.IGNORED: ("~", "Ignored"),
}
_NO_INDEX = QModelIndex()


class HeadersModel(QAbstractTableModel):
    """Mark, name and both values of each header."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: Sequence[AlignedRow] = ()

    def set_rows(self, rows: Sequence[AlignedRow]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row(self, number: int) -> AlignedRow:
        return self._rows[number]

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else 4

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return ("", "Header", "First", "Second")[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        texts = (MARKS[row.kind][0], escape(row.field), row.first or "", row.second or "")
        if role == Qt.ItemDataRole.DisplayRole:
            return texts[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(MARKS[row.kind][1] if column == MARK else texts[column])
        if role == Qt.ItemDataRole.AccessibleTextRole and column == MARK:
            return MARKS[row.kind][1]
        if role == Qt.ItemDataRole.TextAlignmentRole and column == MARK:
            return Qt.AlignmentFlag.AlignCenter
        if role == Qt.ItemDataRole.FontRole and column in (FIRST, SECOND):
            return mono_font(SMALL)
        if role in (Qt.ItemDataRole.BackgroundRole, Qt.ItemDataRole.ForegroundRole):
            return self._colour(row, column, role)
        return None

    def _colour(self, row: AlignedRow, column: int, role: int) -> QColor | None:
        tokens = self._theme.tokens
        if column in (FIRST, SECOND):
            background, text = row_colours(row.kind, column - FIRST, tokens)
        else:
            usual = tokens.danger if column == MARK else tokens.text
            background, text = None, usual if row.kind.differs else tokens.text_muted
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(text)
        return QColor(background) if background is not None else None


class HeadersDelegate(QStyledItemDelegate):
    """Fills cells with their colour: with a style sheet for items, Qt ignores it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        ground = index.data(Qt.ItemDataRole.BackgroundRole)
        if ground is not None and not option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, ground)
        super().paint(painter, option, index)


class HeadersTable(QTableView):
    """`ignore_requested` carries a header's name."""

    ignore_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows = HeadersModel(theme, self)
        self.setModel(self.rows)
        self.setItemDelegate(HeadersDelegate(self))
        self.setAccessibleName("Headers of both responses")
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(metrics.ROW_DENSE)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(32)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for column, width in ((MARK, 36), (NAME, 150)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            self.setColumnWidth(column, width)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self._repaint)

    def menu(self, row: int) -> QMenu | None:
        """The context menu of a header; None if there is nothing to ignore."""
        aligned = self.rows.row(row)
        if not aligned.kind.differs:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        action = menu.addAction(f"Ignore this field: {escape(aligned.field[:60])}".replace("&", "&&"))
        action.setData(aligned.field)
        action.triggered.connect(self._ignore)
        return menu

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        """At the pointer, or below the current row if a key opened it."""
        index = self.indexAt(place) if self.viewport().rect().contains(place) else self.currentIndex()
        if not index.isValid():
            index = self.currentIndex()
        if index.isValid() and (menu := self.menu(index.row())) is not None:
            self.setCurrentIndex(index)
            menu.popup(self.viewport().mapToGlobal(place))

    @Slot()
    def _ignore(self) -> None:
        self.ignore_requested.emit(str(self.sender().data()))  # type: ignore[attr-defined]

    @Slot()
    def _repaint(self) -> None:
        self.viewport().update()
