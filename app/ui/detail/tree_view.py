"""Shows a JSON body as a tree that opens and closes; it is read and built off the GUI thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStackedWidget, QTreeView, QVBoxLayout, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.json_tree import TEXT_MAX, JsonTree, TreeError
from app.core.wording import size_text
from app.ui.detail.latest import Latest
from app.ui.detail.source import BodySource
from app.ui.detail.tree_model import NAME, TreeModel
from app.ui.detail.whole import read_plain
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import label

OPEN_MAX = 2_000
"""Nodes that one wish opens at most."""
FIRST_OPEN = 60
"""A tree of so many top values is shown with those open that hold few."""


class TreeView(QWidget):
    """`show_source` shows a body. Ctrl+C copies the value, Ctrl+Shift+C its path; * opens all below."""

    shown = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(tasks, "tree: load")
        self.view = _Tree(theme, self)
        self.why = label("", "muted", self, wrap=True)
        self.why.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.why.setMargin(metrics.SPACE_5)
        self.stack = QStackedWidget(self)
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.why)
        self.setFocusProxy(self.view)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.stack)

    def show_source(self, source: BodySource) -> None:
        """Show this body."""
        self.clear()
        self._latest.run(partial(self._load, source))

    def clear(self) -> None:
        """Show nothing, and give up what is being loaded."""
        self._latest.stop()
        self._say("")

    async def _load(self, source: BodySource) -> None:
        data = await read_plain(source, TEXT_MAX, self._latest)
        if data is None:
            return
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, _built, source.content_type, data)
        if self._latest.superseded:
            return
        if isinstance(found, str):
            self._say(found)
        else:
            self.view.show_tree(found)
            self.stack.setCurrentWidget(self.view)
        self.shown.emit()

    def _say(self, why: str) -> None:
        self.view.show_tree(None)
        self.why.setText(why)
        self.stack.setCurrentWidget(self.why)


class _Tree(QTreeView):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.nodes = TreeModel(theme, self)
        self.setModel(self.nodes)
        self.setFont(mono_font(SMALL))
        self.setUniformRowHeights(True)
        self.setHeaderHidden(True)
        self.setProperty("frameless", True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAccessibleName("Body as a tree")
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._add("Copy value", QKeySequence(QKeySequence.StandardKey.Copy), self.copy_value)
        self._add("Copy path", QKeySequence("Ctrl+Shift+C"), self.copy_path)
        self._add("Expand all below", QKeySequence("*"), self.open_below)
        self._add("Collapse all", QKeySequence("Ctrl+-"), self.close_all)

    def show_tree(self, tree: JsonTree | None) -> None:
        """Show this one, with its first levels open as far as they are few."""
        self.nodes.set_tree(tree)
        if tree is None:
            return
        root = self.nodes.index(0, NAME)
        self.setCurrentIndex(root)
        self.expand(root)
        tops = tree.children(0)
        if len(tops) <= FIRST_OPEN:
            for row, node in enumerate(tops):
                if 0 < len(tree.children(node)) <= FIRST_OPEN // 4:
                    self.expand(self.nodes.index(row, NAME, root))
        self.setColumnWidth(NAME, max(160, min(self.sizeHintForColumn(NAME) + metrics.SPACE_4, self.width() // 2)))
        self.scrollToTop()

    @Slot()
    def copy_value(self) -> None:
        """The current value as it was written; a string without its quotes."""
        if self.nodes.tree is not None and self.currentIndex().isValid():
            QGuiApplication.clipboard().setText(self.nodes.tree.plain(self.nodes.node(self.currentIndex())))

    @Slot()
    def copy_path(self) -> None:
        """The way to the current value."""
        if self.nodes.tree is not None and self.currentIndex().isValid():
            QGuiApplication.clipboard().setText(self.nodes.tree.path(self.nodes.node(self.currentIndex())))

    @Slot()
    def open_below(self) -> None:
        """Open the current node and what is in it, up to `OPEN_MAX`, the outer ones first."""
        current = self.currentIndex()
        found = [current.siblingAtColumn(NAME)] if current.isValid() else []
        for index in found:  # grows while it is walked
            self.expand(index)
            rows = range(min(self.nodes.rowCount(index), OPEN_MAX))
            inner = (self.nodes.index(row, NAME, index) for row in rows)
            found += [child for child in inner if self.nodes.rowCount(child)][: max(0, OPEN_MAX - len(found))]

    @Slot()
    def close_all(self) -> None:
        """Leave only the outermost level."""
        self.collapseAll()
        self.setCurrentIndex(self.nodes.index(0, NAME))

    def _add(self, text: str, key: QKeySequence, slot: Callable[[], None]) -> None:
        action = QAction(text, self)
        action.setShortcut(key)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(slot)
        self.addAction(action)


def _built(content_type: str, data: bytes) -> JsonTree | str:
    """The tree, or why there is none."""
    if len(data) > TEXT_MAX:
        return f"This body is larger than {size_text(TEXT_MAX)}, too large for a tree. Pretty shows it."
    charset = detect(content_type, data, True)
    try:
        return JsonTree(charset.decoder().decode(data[charset.skip :], True))
    except TreeError as error:
        return str(error)
