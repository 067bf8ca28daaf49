"""Shows a body as rows of a tree that is read and built off the GUI thread, or says why it cannot be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from app.core.bodies.formats.trees import TOP
from app.ui.inspector.body.body_source import BodySource, SourceView, read_plain
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import label
from app.ui.widgets.layout import stack
from app.ui.widgets.rows import NO_INDEX, Index


class BodyTreeModel(QAbstractItemModel):
    """The rows of a `NodeTree`, or none; the ID of an index is its node."""

    def __init__(self, titles: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._titles = titles
        self.tree: Any = None

    def set_tree(self, tree: Any) -> None:
        self.beginResetModel()
        self.tree = tree
        self.endResetModel()

    def node(self, index: Index) -> int:
        return int(index.internalId()) if index.isValid() else TOP

    def index_of(self, node: int) -> QModelIndex:
        """The index of a node in the first column."""
        return self.createIndex(self.tree.row(node), 0, node) if node != TOP else QModelIndex()

    def index(self, row: int, column: int, parent: Index = NO_INDEX) -> QModelIndex:
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, self.tree.children(self.node(parent))[row])

    def parent(self, index: Index = NO_INDEX) -> QModelIndex:  # type: ignore[override]
        """None for the nodes at the top."""
        if self.tree is None or not index.isValid():
            return QModelIndex()
        return self.index_of(self.tree.parent(self.node(index)))

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if self.tree is None or parent.column() > 0 else len(self.tree.children(self.node(parent)))

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None


class BodyTree(QTreeView):
    """Enter opens the current row. The context menu has the actions of the view."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent, uniformRowHeights=True)
        self.value_actions: list[QAction] = []
        """They are enabled while `has_value` is true of the current row."""
        self.setProperty("frameless", True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setAccessibleName(name)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)

    def has_value(self, index: QModelIndex) -> bool:
        raise NotImplementedError

    def show_tree(self, tree: Any) -> None:
        """Show this tree; None shows nothing."""
        raise NotImplementedError

    def open_row(self, row: QModelIndex) -> bool:
        """Expand or collapse a row; returns whether there are rows below it."""
        if not self.model().hasChildren(row):
            return False
        self.setExpanded(row, not self.isExpanded(row))
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A value shown below must not hide its row."""
        with current_in_view(self, event):
            super().resizeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().siblingAtColumn(0)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row.isValid() and self.open_row(row):
            event.accept()
            return
        super().keyPressEvent(event)

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        super().currentChanged(current, previous)
        for action in self.value_actions:
            action.setEnabled(self.has_value(current))


class BodyTreePane(SourceView):
    """Shows a body in `view`, or the reason why it cannot be shown there.

    `build` makes the tree from the content type and the unpacked body, of which at most a little more than `limit`
    bytes are read; or it returns the reason. It runs on another thread. `shown` is emitted afterwards.
    """

    shown = Signal()

    def __init__(
        self,
        view: BodyTree,
        build: Callable[[str, bytes], Any],
        tasks: Tasks,
        parent: QWidget,
        *,
        limit: int,
        name: str,
    ) -> None:
        super().__init__(name, tasks, parent)
        self._tree_view, self._build, self._limit = view, build, limit
        self.reason = label("", "muted", self, wrap=True)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setMargin(metrics.SPACE_5)
        self.stack = stack(view, self.reason, inside=self)
        self.setFocusProxy(view)

    def show_nothing(self) -> None:
        self._show_reason("")

    async def load(self, source: BodySource) -> None:
        data = await read_plain(source, self._limit)
        found = await in_thread(self._build, source.content_type, data)
        if isinstance(found, str):
            self._show_reason(found)
        else:
            self._tree_view.show_tree(found)
            self.stack.setCurrentWidget(self._tree_view)
        self.shown.emit()

    def _show_reason(self, reason: str) -> None:
        self._tree_view.show_tree(None)
        self.reason.setText(reason)
        self.stack.setCurrentWidget(self.reason)
