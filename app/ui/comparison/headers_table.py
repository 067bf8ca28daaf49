"""The headers of both responses, aligned by name."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.comparison.side_by_side import AlignedRow, RowKind
from app.ui.comparison.aligned_text import row_colours
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.rows import Column, Index, Rows, RowsView

MARK, NAME, FIRST, SECOND = range(4)
MARKS = {
    RowKind.SAME: ("", "Same"),
    RowKind.CHANGED: ("≠", "Different"),
    RowKind.FIRST: ("-", "Only in the first response"),
    RowKind.SECOND: ("+", "Only in the second response"),
    RowKind.IGNORED: ("~", "Ignored"),
}


class HeadersModel(Rows[AlignedRow]):
    """Mark, name and both values of each header."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        columns = [
            Column[AlignedRow]("", _mark, _mark_words, align=Qt.AlignmentFlag.AlignCenter),
            Column[AlignedRow]("Header", lambda row: escape(row.field)),
            Column[AlignedRow]("First", lambda row: row.first or "", font=mono_font(SMALL)),
            Column[AlignedRow]("Second", lambda row: row.second or "", font=mono_font(SMALL)),
        ]
        super().__init__(columns, parent)
        self._theme = theme

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.record(index.row()), index.column()
        if role == Qt.ItemDataRole.AccessibleTextRole and column == MARK:
            return _mark_words(row)
        if role in (Qt.ItemDataRole.BackgroundRole, Qt.ItemDataRole.ForegroundRole):
            return self._colour(row, column, role)
        return super().data(index, role)

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


def _mark(row: AlignedRow) -> str:
    return MARKS[row.kind][0]


def _mark_words(row: AlignedRow) -> str:
    return MARKS[row.kind][1]


class HeadersDelegate(QStyledItemDelegate):
    """Fills cells with their colour: with a style sheet for items, Qt ignores it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        ground = index.data(Qt.ItemDataRole.BackgroundRole)
        if ground is not None and not option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, ground)
        super().paint(painter, option, index)


class HeadersTable(RowsView):
    """`ignore_requested` carries a header's name."""

    ignore_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Headers of both responses", parent)
        self.rows = HeadersModel(theme, self)
        self.show_rows(self.rows, metrics.ROW_DENSE)
        self.setItemDelegate(HeadersDelegate(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(32)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for column, width in ((MARK, 36), (NAME, 150)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            self.setColumnWidth(column, width)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self.viewport().update)

    def menu(self, row: int) -> QMenu | None:
        """The context menu of a header; None if there is nothing to ignore."""
        aligned = self.rows.record(row)
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
        index = self.currentIndex()
        if index.isValid() and (menu := self.menu(index.row())) is not None:
            menu.popup(self.menu_place(place))

    @Slot()
    def _ignore(self) -> None:
        self.ignore_requested.emit(str(self.sender().data()))  # type: ignore[attr-defined]
