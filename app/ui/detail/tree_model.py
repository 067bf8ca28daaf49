"""A JSON tree for Qt, which asks for the children of what is open only."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.core.bodies.escape import escape
from app.core.bodies.json_tree import ROOT, JsonTree
from app.ui.theme.theme import Theme

Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
NAME, VALUE = range(2)


class TreeModel(QAbstractItemModel):
    """Two columns, name and value; an index's id is its node."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tree: JsonTree | None = None

    def set_tree(self, tree: JsonTree | None) -> None:
        """Show this one."""
        self.beginResetModel()
        self.tree = tree
        self.endResetModel()

    def node(self, index: Index) -> int:
        """Which node stands there."""
        return int(index.internalId())

    def index(self, row: int, column: int, parent: Index = _NO_INDEX) -> QModelIndex:
        """Of a child."""
        if self.tree is None or not self.hasIndex(row, column, parent):
            return QModelIndex()
        node = self.tree.children(self.node(parent))[row] if parent.isValid() else ROOT
        return self.createIndex(row, column, node)

    def parent(self, index: Index = _NO_INDEX) -> QModelIndex:  # type: ignore[override]
        """Of a node; none of the root."""
        if self.tree is None or not index.isValid():
            return QModelIndex()
        above = self.tree.parent(self.node(index))
        return QModelIndex() if above < 0 else self.createIndex(self.tree.row(above), NAME, above)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """Children."""
        if self.tree is None:
            return 0
        if not parent.isValid():
            return 1
        return len(self.tree.children(self.node(parent))) if parent.column() == NAME else 0

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        """Name and value."""
        return 2

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Shown with nothing hidden in it, in the colours of Pretty."""
        if self.tree is None or not index.isValid():
            return None
        node, named = self.node(index), index.column() == NAME
        if role == Qt.ItemDataRole.DisplayRole:
            return escape((self.tree.name(node)[:1_000] or "$") if named else self.tree.summary(node))
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour("key" if named else self.tree.kind(node))
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Column titles."""
        return ("Name", "Value")[section] if role == Qt.ItemDataRole.DisplayRole else None

    def _colour(self, kind: str) -> QColor:
        tokens = self._theme.tokens
        colours = {
            "key": tokens.code_key,
            "string": tokens.code_string,
            "number": tokens.code_number,
            "literal": tokens.code_literal,
        }
        return QColor(colours.get(kind, tokens.text_muted))
