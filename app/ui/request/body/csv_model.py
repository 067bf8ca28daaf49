"""Qt model of comma-separated values. Rows are split into cells when needed; more rows can be added below."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.core.bodies.escape import escape
from app.core.bodies.formats.csv import COLUMNS_MAX, Block, Rows
from app.core.bodies.unix_time import describe, unix_time
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip

Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
SHOWN_MAX = 500
"""Maximum characters shown of a cell."""
_KEPT_ROWS = 500
_TIME_MAX = 40


class CsvModel(QAbstractTableModel):
    """`header`: the first row names the columns and does not count as a row."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows = Rows(",")
        self._cells = lru_cache(_KEPT_ROWS)(self._rows.cells)
        self.header = False

    @property
    def rows(self) -> Rows:
        """All rows, including the header."""
        return self._rows

    def start(self, rows: Rows, *, header: bool) -> None:
        """`add` appends to these rows."""
        self.beginResetModel()
        self._rows, self.header = rows, header
        self._cells = lru_cache(_KEPT_ROWS)(rows.cells)
        self.endResetModel()

    def add(self, block: Block) -> None:
        """May add columns, too."""
        columns, rows = self._rows.columns, self.rowCount()
        wider = min(max(columns, block.columns), COLUMNS_MAX)
        if wider > columns:
            self.beginInsertColumns(_NO_INDEX, columns, wider - 1)
            self._rows.columns = wider
            self._cells.cache_clear()  # The last column may have contained the rest of longer rows.
            self.endInsertColumns()
        self.beginInsertRows(_NO_INDEX, rows, rows + len(block.starts) - 2)
        self._rows.add(block)
        self.endInsertRows()

    def set_header(self, header: bool) -> None:
        """Use the first row as column names, or as an ordinary row."""
        self.beginResetModel()
        self.header = header
        self.endResetModel()

    def value(self, row: int, column: int) -> str:
        """The full text of a cell; empty if the row is shorter."""
        found = self._cells(row + self.header)
        return found[column] if column < len(found) else ""

    def name(self, column: int) -> str:
        """The name of a column; empty without a header."""
        names = self._cells(0) if self.header and len(self._rows) else []
        return names[column] if column < len(names) else ""

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of rows without the header."""
        return 0 if parent.isValid() else max(0, len(self._rows) - self.header)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of columns of the longest row."""
        return 0 if parent.isValid() or not len(self._rows) else self._rows.columns

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped for display; beyond the end of a short row there is no cell, not an empty one."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            found = self._cells(index.row() + self.header)
            return _short(found[index.column()]) if index.column() < len(found) else None
        if role == Qt.ItemDataRole.BackgroundRole:
            missing = index.column() >= len(self._cells(index.row() + self.header))
            return QColor(self._theme.tokens.bg) if missing else None
        if role == Qt.ItemDataRole.ToolTipRole:
            text = self.value(index.row(), index.column()).strip()
            moment = unix_time(text, self.name(index.column()), quoted=True) if len(text) <= _TIME_MAX else None
            return plain_tooltip(describe(moment)) if moment else None
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Column names, or numbers without a header; rows are numbered."""
        if role == Qt.ItemDataRole.DisplayRole:
            if orientation == Qt.Orientation.Vertical:
                return f"{section + 1:,}"
            return _short(self.name(section)) or str(section + 1)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if orientation == Qt.Orientation.Vertical else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def _short(text: str) -> str:
    return escape(text[:SHOWN_MAX]) + ("…" if len(text) > SHOWN_MAX else "")
