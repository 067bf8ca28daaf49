"""Shows a JSON body as a collapsible tree; it is read and built off the GUI thread."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QFont, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QVBoxLayout, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.embedded_values import Embedded, decode
from app.core.bodies.formats.json_tree import TEXT_MAX, JsonTree, TreeError
from app.core.text import size_text
from app.ui.latest_only import Latest
from app.ui.request.body.body_source import BodySource, read_plain
from app.ui.request.body.code.text_size import TextSize
from app.ui.request.body.tree_model import NAME, Index, TreeModel, TreePlace, decoded_tree
from app.ui.request.body.view_actions import add_view_action
from app.ui.request.body.view_or_reason import ViewOrReason
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme

OPEN_MAX = 2_000
"""Maximum nodes expanded by one command."""
FIRST_OPEN = 60
"""Up to this many top-level values, small ones are shown expanded."""


class TreeView(QWidget):
    """`show_source` shows a body. Ctrl+C copies the value, Ctrl+Shift+C its path; * expands all below; Enter expands,
    collapses and decodes.
    """

    shown = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._latest = Latest(tasks, "tree: load")
        self.view = _Tree(theme, self)
        self.stack = ViewOrReason(self.view, self)
        self.why = self.stack.reason
        self.setFocusProxy(self.view)
        self.view.nodes.decode_requested.connect(self._decode)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.stack)

    def show_source(self, source: BodySource) -> None:
        """Show this body."""
        self.clear()
        self._latest.run(partial(self._load, source))

    def clear(self) -> None:
        """Show nothing, and cancel loading."""
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
            self.stack.show_view()
        self.shown.emit()

    @Slot(object, object)
    def _decode(self, place: TreePlace, text: str) -> None:
        self._tasks.start(self._add_decoded(place, text, self.view.nodes.tree), "tree: decode")

    async def _add_decoded(self, place: TreePlace, text: str, tree: JsonTree | None) -> None:
        decoded = await asyncio.get_running_loop().run_in_executor(None, _decoded, text)
        self.view.nodes.add_decoded(place, decoded, tree)
        self.view.show_decoded(place, tree)

    def _say(self, why: str) -> None:
        self.view.show_tree(None)
        self.stack.show_reason(why)


class _Tree(QTreeView):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.nodes = TreeModel(theme, self)
        self._decode = add_view_action(self, "Decode value", self.open_current)
        self.setModel(self.nodes)
        self._text_size = TextSize(self, theme.body_text, self._set_font)
        self.setUniformRowHeights(True)
        self.setHeaderHidden(True)
        self.setProperty("frameless", True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAccessibleName("Body as a tree")
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        add_view_action(self, "Copy value", self.copy_value, QKeySequence.StandardKey.Copy)
        add_view_action(self, "Copy path", self.copy_path, "Ctrl+Shift+C")
        add_view_action(self, "Expand all below", self.open_below, "*")
        add_view_action(self, "Collapse all", self.close_all, "Ctrl+Alt+[")

    def show_tree(self, tree: JsonTree | None) -> None:
        """Show this tree; its first levels are expanded if they are small."""
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
        self._fit_names()
        self.scrollToTop()

    def choose(self, node: int) -> None:
        """Make this node of the body current, and scroll to it."""
        index = self.nodes.index_of(TreePlace(0, node))
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def show_decoded(self, place: TreePlace, tree: JsonTree | None) -> None:
        """Expand the first levels of decoded content, if the tree still shows it expanded."""
        index = self.nodes.index_of(place) if tree is not None and tree is self.nodes.tree else QModelIndex()
        if not self.nodes.rowCount(index):
            self.scheduleDelayedItemsLayout()  # There is nothing to decode after all.
        elif self.isExpanded(index):
            root = self.nodes.index(0, NAME, index)
            if self.nodes.rowCount(root) <= FIRST_OPEN:
                self.expand(root)
            width = self.sizeHintForColumn(NAME) + metrics.SPACE_4
            self.setColumnWidth(NAME, max(self.columnWidth(NAME), min(width, self.width() // 2)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter expands and collapses."""
        current = self.currentIndex().siblingAtColumn(NAME)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.nodes.hasChildren(current):
            self.setExpanded(current, not self.isExpanded(current))
            event.accept()
            return
        super().keyPressEvent(event)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """The menu offers to decode what can be decoded."""
        super().currentChanged(current, previous)
        self._decode.setEnabled(self.nodes.can_decode(current.sibling(current.row(), NAME)))

    @Slot()
    def open_current(self) -> None:
        """Expand the current value, decoding it if necessary."""
        self.expand(self.currentIndex().siblingAtColumn(NAME))

    @Slot()
    def copy_value(self) -> None:
        """Copy the current value as it was written; a string without its quotes."""
        if self.currentIndex().isValid():
            QGuiApplication.clipboard().setText(self.nodes.plain(self.currentIndex()))

    @Slot()
    def copy_path(self) -> None:
        """Copy the path of the current value."""
        if self.currentIndex().isValid():
            QGuiApplication.clipboard().setText(self.nodes.path(self.currentIndex()))

    @Slot()
    def open_below(self) -> None:
        """Expand the current node and its descendants, up to `OPEN_MAX`, the outer ones first."""
        current = self.currentIndex()
        found = [current.siblingAtColumn(NAME)] if current.isValid() else []
        for index in found:  # Grows while it is iterated.
            self.expand(index)
            rows = range(min(self.nodes.rowCount(index), OPEN_MAX))
            inner = (self.nodes.index(row, NAME, index) for row in rows)
            found += [child for child in inner if self.nodes.rowCount(child)][: max(0, OPEN_MAX - len(found))]

    @Slot()
    def close_all(self) -> None:
        """Collapse all but the outermost level."""
        self.collapseAll()
        self.setCurrentIndex(self.nodes.index(0, NAME))

    def _set_font(self, font: QFont) -> None:
        self.setFont(font)
        self.nodes.set_base_font(font)
        self.scheduleDelayedItemsLayout()
        if self.nodes.tree is not None:
            self._fit_names()

    def _fit_names(self) -> None:
        self.setColumnWidth(NAME, max(160, min(self.sizeHintForColumn(NAME) + metrics.SPACE_4, self.width() // 2)))


def _decoded(text: str) -> tuple[Embedded, JsonTree] | None:
    found = decode(text)
    return None if found is None else (found, decoded_tree(found))


def _built(content_type: str, data: bytes) -> JsonTree | str:
    """The tree, or why there is none."""
    if len(data) > TEXT_MAX:
        return f"This body is larger than {size_text(TEXT_MAX)}, too large to show as a tree. Use Pretty instead."
    charset = detect(content_type, data, True)
    try:
        return JsonTree(charset.decoder().decode(data[charset.skip :], True))
    except TreeError as error:
        return str(error)
