"""Names and values as a table: in their order, with their case and duplicates; long values wrap and never push."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QRect, Qt, Slot
from PySide6.QtGui import QAction, QColor, QFont, QFontMetrics, QGuiApplication, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.core.bodies.escape import escape
from app.ui.search.wrapped_marks import paint_wrapped
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme

LINES_MAX = 8
"""Lines of a cell that are shown; the rest is for Copy."""
SHOWN_MAX = 4_000
PADDING = 6

Index = QModelIndex | QPersistentModelIndex
Row = tuple[str, ...]
_NO_INDEX = QModelIndex()
_RAW = Qt.ItemDataRole.UserRole


class PairsModel(QAbstractTableModel):
    """Rows of texts, one for each column; shown with nothing hidden in them, copied as they are."""

    def __init__(self, columns: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: list[Row] = []

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these."""
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """Rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        """Columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text, escaped; as it is for editing and `_RAW`."""
        if not index.isValid():
            return None
        text = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escape(text[:SHOWN_MAX]) + ("…" if len(text) > SHOWN_MAX else "")
        return text if role == _RAW else None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Column titles."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self._columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Editable, because a read-only field is how part of a text is selected."""
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def text(self, row: int) -> str:
        """A row as `name: value`."""
        return ": ".join(self._rows[row][:2])

    def value(self, row: int) -> str:
        """A row's second text."""
        return self._rows[row][1]

    def cells(self, row: int) -> Row:
        """A row's texts."""
        return self._rows[row]


class PairsView(QTableView):
    """A table of pairs. Double-click selects within a value; Ctrl+C copies rows."""

    def __init__(self, columns: Sequence[str], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.pairs = PairsModel(columns, self)
        self.setModel(self.pairs)
        self._delegate = _PairsDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setStyleSheet(
            "QHeaderView::section { padding: 0 12px; } QHeaderView::section:first { padding-left: 16px; }"
        )
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(20)
        header = self.horizontalHeader()
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionsClickable(False)
        header.sectionResized.connect(self._fit_rows)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._add_action("Copy value", self.copy_values)
        copy = self._add_action("Copy name and value", self.copy_rows)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._add_action("Copy all", self.copy_all)

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these pairs."""
        self.pairs.set_rows(rows)
        self._fit_columns()
        self.scrollToTop()

    def mark(self, words: re.Pattern[str] | None) -> None:
        """Mark what this matches, in these rows and all later ones; None marks nothing."""
        self._delegate.marked = words
        self.viewport().update()

    @property
    def marked(self) -> re.Pattern[str] | None:
        """What is marked."""
        return self._delegate.marked

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap anew."""
        super().resizeEvent(event)
        self._fit_columns()

    @Slot()
    def copy_rows(self) -> None:
        """The selected rows, one to a line."""
        self._copy([self.pairs.text(row) for row in self._chosen()])

    @Slot()
    def copy_values(self) -> None:
        """The selected rows' values, one to a line."""
        self._copy([self.pairs.value(row) for row in self._chosen()])

    @Slot()
    def copy_all(self) -> None:
        """All rows, one to a line."""
        self._copy([self.pairs.text(row) for row in range(self.pairs.rowCount())])

    def _copy(self, lines: list[str]) -> None:
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _chosen(self) -> list[int]:
        return sorted(index.row() for index in self.selectionModel().selectedRows())

    def _add_action(self, text: str, slot: Any) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        self.addAction(action)
        return action

    def _fit_columns(self) -> None:
        """The name as wide as names are, within bounds; the rest is the values'."""
        fm, width = QFontMetrics(self._delegate.name_font), self.viewport().width()
        names = (self.pairs.cells(row)[0] for row in range(min(200, self.pairs.rowCount())))
        widest = max((fm.horizontalAdvance(escape(name[:60])) for name in names), default=0)
        first = min(max(96, widest + 2 * metrics.SPACE_3 + metrics.SPACE_3), int(width * 0.42))
        others = self.pairs.columnCount() - 1
        self.setColumnWidth(0, first)
        for column in range(1, others):
            self.setColumnWidth(column, (width - first) // others)
        # The stretched last section takes its width only later.
        self.horizontalHeader().resizeSection(others, width - first - (width - first) // others * (others - 1))
        self._fit_rows()

    @Slot()
    def _fit_rows(self) -> None:
        """Heights by the wrapped texts, within bounds; a table of thousands keeps one height."""
        count = self.pairs.rowCount()
        for row in range(count):
            height = self._delegate.height(self, row) if count <= 500 else metrics.ROW_DENSE
            if self.rowHeight(row) != height:
                self.setRowHeight(row, height)


class _PairsDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: PairsView) -> None:
        super().__init__(view)
        self._theme = theme
        self.marked: re.Pattern[str] | None = None
        self.name_font, self._font = mono_font(SMALL, QFont.Weight.Medium), mono_font(SMALL)
        self._name_metrics, self._metrics = QFontMetrics(self.name_font), QFontMetrics(self._font)

    def height(self, view: PairsView, row: int) -> int:
        tallest = metrics.ROW_DENSE
        for column, text in enumerate(view.pairs.cells(row)):
            fm = self._metrics if column else self._name_metrics
            width = max(40, view.columnWidth(column) - 2 * metrics.SPACE_3)
            room = QRect(0, 0, width, 10_000)
            used = fm.boundingRect(room, int(Qt.TextFlag.TextWrapAnywhere), escape(text[:SHOWN_MAX]) or " ").height()
            tallest = max(tallest, min(used, LINES_MAX * fm.lineSpacing()) + 2 * PADDING)
        return tallest

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.fillRect(rect, QColor(tokens.selection if selected else tokens.surface))
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setClipRect(rect)
        first = index.column() == 0
        painter.setFont(self.name_font if first else self._font)
        painter.setPen(QColor(tokens.text_muted if first else tokens.text))
        inner = rect.adjusted(metrics.SPACE_3 + (metrics.SPACE_1 if first else 0), PADDING, -metrics.SPACE_3, -PADDING)
        paint_wrapped(painter, inner, index.data(), self.marked, tokens)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = QLineEdit(parent)
        field.setReadOnly(True)
        field.setFont(self._font)
        field.setText(str(index.data(_RAW)).replace("\n", " "))
        field.setCursorPosition(0)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """It was filled when it was made."""

    def setModelData(self, editor: QWidget, model: Any, index: Index) -> None:
        """Nothing is ever changed."""
