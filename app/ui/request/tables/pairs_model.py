"""Rows of texts for a table of names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.core.bodies.escape import escape

TEXT_MAX = 4_000
"""Maximum characters of the text of a cell, mostly for screen readers."""

Index = QModelIndex | QPersistentModelIndex
Row = tuple[str, ...]
RAW = Qt.ItemDataRole.UserRole
"""The role of the unescaped text."""
_NO_INDEX = QModelIndex()


class PairsModel(QAbstractTableModel):
    """Rows with a text for each column; escaped for display, copied as they are."""

    def __init__(self, columns: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: list[Row] = []
        self.cut: dict[int, frozenset[int]] = {}
        """The columns that are cut, by row; set by the view."""

    def set_rows(self, rows: Sequence[Row]) -> None:
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped, except for editing and `RAW`."""
        if not index.isValid():
            return None
        text = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escape(text[:TEXT_MAX]) + ("…" if len(text) > TEXT_MAX else "")
        if role == Qt.ItemDataRole.AccessibleDescriptionRole and index.column() in self.cut.get(index.row(), ()):
            return f"{len(text):,} characters. Press Enter to show all."
        return text if role == RAW else None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self._columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Editable, because part of a text is selected in a read-only editor."""
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
