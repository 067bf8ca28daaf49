"""Qt model of form fields: name, value, and the pair as sent; names with brackets form groups."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.core.bodies.escape import escape
from app.core.bodies.formats.form import ROOT, FormField, FormTree
from app.core.bodies.unix_time import describe, unix_time
from app.core.text import count_of
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip

Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
NAME, VALUE, SENT = range(3)
TITLES = ("Name", "Value", "As sent")
SHOWN_MAX = 1_000
"""Maximum characters shown of a cell."""


class FormModel(QAbstractItemModel):
    """The ID of an index is its node."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tree: FormTree | None = None

    def set_tree(self, tree: FormTree | None) -> None:
        self.beginResetModel()
        self.tree = tree
        self.endResetModel()

    def field(self, index: Index) -> FormField | None:
        """None for a group."""
        return self.tree.field(int(index.internalId())) if self.tree is not None and index.isValid() else None

    def index(self, row: int, column: int, parent: Index = _NO_INDEX) -> QModelIndex:
        if self.tree is None or not self.hasIndex(row, column, parent):
            return QModelIndex()
        above = int(parent.internalId()) if parent.isValid() else ROOT
        return self.createIndex(row, column, self.tree.children(above)[row])

    def parent(self, index: Index = _NO_INDEX) -> QModelIndex:  # type: ignore[override]
        if self.tree is None or not index.isValid():
            return QModelIndex()
        above = self.tree.parent(int(index.internalId()))
        return QModelIndex() if above == ROOT else self.createIndex(self.tree.row(above), NAME, above)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        if self.tree is None or (parent.isValid() and parent.column() != NAME):
            return 0
        return len(self.tree.children(int(parent.internalId()) if parent.isValid() else ROOT))

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return len(TITLES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped for display."""
        if self.tree is None or not index.isValid():
            return None
        node, column = int(index.internalId()), index.column()
        field = self.tree.field(node)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(node, field, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(field, column)
        if role == Qt.ItemDataRole.ToolTipRole and field is not None and column == VALUE:
            moment = unix_time(field.value, field.name, quoted=True)
            return plain_tooltip(describe(moment)) if moment else None
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def _text(self, node: int, field: FormField | None, column: int) -> str:
        assert self.tree is not None
        if column == NAME:
            return _short(self.tree.label(node))
        if field is None:
            return count_of(len(self.tree.children(node)), "field") if column == VALUE else ""
        return _short(field.value if column == VALUE else field.sent)

    def _colour(self, field: FormField | None, column: int) -> QColor:
        tokens = self._theme.tokens
        if column == NAME:
            return QColor(tokens.code_key)
        return QColor(tokens.text if column == VALUE and field is not None else tokens.text_muted)


def _short(text: str) -> str:
    return escape(text[:SHOWN_MAX]) + ("…" if len(text) > SHOWN_MAX else "")
