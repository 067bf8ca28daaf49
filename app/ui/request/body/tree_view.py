"""Shows a JSON body as a collapsible tree; it is read and built off the GUI thread."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtGui import QFont, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QWidget

from app.core.bodies.charset import detect
from app.core.bodies.embedded_values import Embedded, decode
from app.core.bodies.formats.json_tree import TEXT_MAX, JsonTree, TreeError
from app.core.text import size_text
from app.ui.request.body.body_tree import BodyTree, BodyTreePane
from app.ui.request.body.code.text_style import TextSize
from app.ui.request.body.tree_model import NAME, TreeModel, TreePlace, decoded_tree
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.view_actions import add_view_action

OPEN_MAX = 2_000
"""Maximum nodes expanded by one command."""
FIRST_OPEN = 60
"""Up to this many top-level values, small ones are shown expanded."""


class TreeView(BodyTreePane):
    """Ctrl+C copies the value, Ctrl+Shift+C its path; * expands all below; Enter expands, collapses and decodes."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        view = _Tree(theme, parent)
        super().__init__(view, _built, tasks, parent, limit=TEXT_MAX, name="tree")
        self._tasks = tasks
        self.view = view
        self.view.nodes.decode_requested.connect(self._decode)

    @Slot(object, object)
    def _decode(self, place: TreePlace, text: str) -> None:
        self._tasks.start(self._add_decoded(place, text, self.view.nodes.tree), "tree: decode", self)

    async def _add_decoded(self, place: TreePlace, text: str, tree: JsonTree | None) -> None:
        decoded = await in_thread(_decoded, text)
        self.view.nodes.add_decoded(place, decoded, tree)
        self.view.show_decoded(place, tree)


class _Tree(BodyTree):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Body as a tree", parent)
        self.nodes = TreeModel(theme, self)
        self.setModel(self.nodes)
        self._text_size = TextSize(self, theme.body_text, self._set_font)
        self.setHeaderHidden(True)
        self.add_value_action("Decode value", self.open_current)
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

    def has_value(self, index: QModelIndex) -> bool:
        """Whether there is something to decode."""
        return self.nodes.can_decode(index.siblingAtColumn(NAME))

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
