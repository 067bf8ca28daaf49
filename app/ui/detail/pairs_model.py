"""Rows of texts for a table of names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.core.bodies.escape import escape

SHOWN_MAX = 4_000
"""Characters that a cell gives as its text, to screen readers above all."""

Index = QModelIndex | QPersistentModelIndex
Row = tuple[str, ...]
RAW = Qt.ItemDataRole.UserRole
"""The role of a text as it is."""
_NO_INDEX = QModelIndex()


class PairsModel(QAbstractTableModel):
    """Rows of texts, one for each column; shown with nothing hidden in them, copied as they are."""

    def __init__(self, columns: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: list[Row] = []
        self.cut: dict[int, frozenset[int]] = {}
        """The columns of which only the beginning is shown, by row; kept by the view."""

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
        """The text, escaped; as it is for editing and `RAW`."""
        if not index.isValid():
            return None
        text = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escape(text[:SHOWN_MAX]) + ("…" if len(text) > SHOWN_MAX else "")
        if role == Qt.ItemDataRole.AccessibleDescriptionRole and index.column() in self.cut.get(index.row(), ()):
            return f"{len(text):,} characters. Enter shows all of them."
        return text if role == RAW else None

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
