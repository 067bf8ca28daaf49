"""What the views of a body as a tree share: its reading, the reason if it cannot be shown, the menu and Enter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStackedWidget, QTreeView, QWidget

from app.ui.inspector.body.body_source import BodySource, read_plain
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import label
from app.ui.widgets.layout import vbox
from app.ui.widgets.view_actions import add_view_action


class BodyTree(QTreeView):
    """Enter opens the current row. The context menu has the actions of the view."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._value_actions: list[QAction] = []
        self.setUniformRowHeights(True)
        self.setProperty("frameless", True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setAccessibleName(name)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)

    def add_value_action(self, text: str, slot: Callable[..., None], key: str = "") -> None:
        """An action that is enabled while `has_value` is true of the current row."""
        self._value_actions.append(add_view_action(self, text, slot, key))

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
        for action in self._value_actions:
            action.setEnabled(self.has_value(current))


class BodyTreePane(QWidget):
    """`show_source` shows a body in `view`, or the reason why it cannot be shown there.

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
        super().__init__(parent)
        self._tree_view, self._build, self._limit = view, build, limit
        self._latest = Latest(self, tasks, f"{name}: load")
        self.reason = label("", "muted", self, wrap=True)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setMargin(metrics.SPACE_5)
        self.stack = QStackedWidget(self)
        self.stack.addWidget(view)
        self.stack.addWidget(self.reason)
        self.setFocusProxy(view)
        vbox(self.stack, inside=self, margins=0)

    def show_source(self, source: BodySource) -> None:
        self.clear()
        self._latest.run(partial(self._load, source))

    def clear(self) -> None:
        """Show nothing, and cancel loading."""
        self._latest.stop()
        self._show_reason("")

    async def _load(self, source: BodySource) -> None:
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
