"""Shows a body as a tree of rows that is read and built off the GUI thread, or says why it cannot be shown; and JSON as
such a tree."""

from __future__ import annotations

import json
from asyncio import Lock
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QColor, QFont, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.escape import escape
from app.core.bodies.formats.trees import TEXT_MAX, TOP, JsonTree, TreeError
from app.core.bodies.values import HEAD, VALUE_MAX, Embedded, decode, may_decode, time_words
from app.core.text import size_text
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.body_source import BodySource, SourceView, read_plain
from app.ui.inspector.body.text_style import TextSize
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import label, plain_tooltip
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


OPEN_MAX = 2_000
"""Maximum nodes expanded by one command."""
FIRST_OPEN = 60
"""Up to this many top-level values, small ones are shown expanded."""
NAME, VALUE = range(2)
_TIME_MAX = 40
"""Maximum characters of a value that may be a time, as written."""


class TreeModel(BodyTreeModel):
    """`decode_requested` carries the node and text of an expanded string; pass the result to `add_decoded`."""

    decode_requested = Signal(object, object)

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(("Name", "Value"), parent)
        self._theme = theme
        self.tree: JsonTree | None
        self._may: dict[int, bool] = {}
        self._requested: set[int] = set()
        self.font = QFont()
        """That of the view, which those of marks are made of."""

    def set_tree(self, tree: JsonTree | None) -> None:
        self._may, self._requested = {}, set()
        super().set_tree(tree)

    def path(self, index: Index) -> str:
        return self.tree.path(self.node(index)) if self.tree is not None else ""

    def can_decode(self, index: Index) -> bool:
        """Whether a string there looks like encoded data, decoded or not."""
        tree, node = self.tree, self.node(index)
        if tree is None or node == TOP:
            return False
        found = self._may.get(node)
        if found is None:
            found = self._may[node] = _looks_decodable(tree, node)
        return found

    def add_decoded(self, node: int, decoded: tuple[Embedded, JsonTree] | None) -> None:
        """Show the decoded content of a string; None if there was nothing to decode."""
        self._requested.discard(node)
        index = self.index_of(node)
        if decoded is None:
            self._may[node] = False
            self.dataChanged.emit(index, index.siblingAtColumn(VALUE))
        elif self.tree is not None and not self.tree.children(node):
            self.beginInsertRows(index, 0, 0)
            self.tree.add_decoded(node, *decoded)
            self.endInsertRows()

    def hasChildren(self, parent: Index = NO_INDEX) -> bool:
        """A string that can be decoded has its decoded content as a child."""
        return self.rowCount(parent) > 0 or self.canFetchMore(parent)

    def canFetchMore(self, parent: Index) -> bool:
        """A string that is expanded for the first time."""
        return parent.column() == NAME and not self.rowCount(parent) and self.can_decode(parent)

    def fetchMore(self, parent: Index) -> None:
        """Request decoding; the child is added later."""
        tree, node = self.tree, self.node(parent)
        if tree is not None and self.canFetchMore(parent) and node not in self._requested:
            self._requested.add(node)
            self.decode_requested.emit(node, tree.plain(node))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped, in the colours of Pretty."""
        tree = self.tree
        if tree is None or not index.isValid():
            return None
        node, named = self.node(index), index.column() == NAME
        origin = tree.decoded.get(node)
        marked = origin is not None and named
        if role == Qt.ItemDataRole.DisplayRole:
            if marked and origin is not None:
                return mark(origin)
            return escape((tree.name(node)[:1_000] or "$") if named else tree.summary(node))
        if role == Qt.ItemDataRole.ForegroundRole:
            kind = "mark" if marked else "key" if named else tree.kind(node)
            return QColor(getattr(self._theme.tokens, f"code_{kind}", self._theme.tokens.text_muted))
        if role == Qt.ItemDataRole.FontRole and marked:
            italic = QFont(self.font)
            italic.setItalic(True)
            return italic
        return _tooltip(tree, node) if role == Qt.ItemDataRole.ToolTipRole else None


def _looks_decodable(tree: JsonTree, node: int) -> bool:
    if tree.kind(node) != "string" or tree.length(node) > VALUE_MAX:
        return False
    if tree.length(node) <= 2 * HEAD:
        return may_decode(tree.plain(node))
    # The beginning of a long text is enough; if an escape is cut, only the quotes are wrong.
    head = tree.beginning(node, 2 * HEAD)[1:].replace('\\"', '"').replace("\\/", "/")
    return may_decode(head.replace("\\n", "\n").replace("\\r", "\r"))


def _tooltip(tree: JsonTree, node: int) -> str | None:
    origin, kind = tree.decoded.get(node), tree.kind(node)
    if origin is not None and origin.note:
        return plain_tooltip(origin.note)
    if kind not in ("number", "string") or tree.length(node) > _TIME_MAX:
        return None
    return plain_tooltip(time_words(tree.plain(node), tree.name(node), quoted=kind == "string")) or None


def mark(embedded: Embedded) -> str:
    """The text of a row that says that what is below it is decoded, not as it was sent."""
    more = ", not verified" if embedded.source == "JSON Web Token" else ""
    return f"decoded from {embedded.source}{more}"


class TreeView(BodyTreePane):
    """Ctrl+C copies the value, Ctrl+Shift+C its path; * expands all below; Enter expands, collapses and decodes."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        view = _Tree(theme, parent)
        super().__init__(view, _built, tasks, parent, limit=TEXT_MAX, name="tree")
        self._tasks, self._turn = tasks, Lock()
        self.view = view
        self.view.nodes.decode_requested.connect(self._decode)

    @Slot(object, object)
    def _decode(self, node: int, text: str) -> None:
        if self.view.nodes.tree is not None:
            self._tasks.start(self._add_decoded(node, text, self.view.nodes.tree), "tree: decode", self)

    async def _add_decoded(self, node: int, text: str, tree: JsonTree) -> None:
        async with self._turn:  # What is added to the end of the tree is made for there.
            decoded = await in_thread(_decoded, text, tree)
            if tree is self.view.nodes.tree:
                self.view.nodes.add_decoded(node, decoded)
                self.view.show_decoded(node)


class _Tree(BodyTree):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Body as a tree", parent)
        self.nodes = TreeModel(theme, self)
        self.setModel(self.nodes)
        self._text_size = TextSize(self, theme.body_text, self._set_font)
        self.setHeaderHidden(True)
        self.value_actions = [add_view_action(self, "Decode value", self.open_current)]
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The names get what they need of the width, also of one that is known only now."""
        super().resizeEvent(event)
        if self.nodes.tree is not None:
            self._fit_names()

    def choose(self, node: int) -> None:
        """Make this node of the body current, and scroll to it."""
        index = self.nodes.index_of(node)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def show_decoded(self, node: int) -> None:
        """Expand the first levels of decoded content, if the tree still shows it expanded."""
        index = self.nodes.index_of(node)
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
        return self.nodes.can_decode(index)

    @Slot()
    def open_current(self) -> None:
        """Expand the current value, decoding it if necessary."""
        self.expand(self.currentIndex().siblingAtColumn(NAME))

    @Slot()
    def copy_value(self) -> None:
        """Copy the current value as it was written; a string without its quotes."""
        if self.nodes.tree is not None and self.currentIndex().isValid():
            QGuiApplication.clipboard().setText(self.nodes.tree.plain(self.nodes.node(self.currentIndex())))

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
        self.nodes.font = font
        self.scheduleDelayedItemsLayout()
        if self.nodes.tree is not None:
            self._fit_names()

    def _fit_names(self) -> None:
        self.setColumnWidth(NAME, max(160, min(self.sizeHintForColumn(NAME) + metrics.SPACE_4, self.width() // 2)))


def _decoded(text: str, whole: JsonTree) -> tuple[Embedded, JsonTree] | None:
    """What a string of the tree `whole` contains, and as a tree to be added to it: plain text is one of one string."""
    found = decode(text)
    if found is None:
        return None
    if found.is_json:
        with suppress(TreeError):  # Too large or too deep for a tree: shown as one string.
            return found, JsonTree(found.text, whole)
    return found, JsonTree(json.dumps(found.text, ensure_ascii=False), whole)


def _built(content_type: str, data: bytes) -> JsonTree | str:
    """The tree, or why there is none."""
    if len(data) > TEXT_MAX:
        return f"This body is larger than {size_text(TEXT_MAX)}, too large to show as a tree. Use Pretty instead."
    try:
        return JsonTree(detect(content_type, data, True).decode(data))
    except TreeError as error:
        return str(error)
