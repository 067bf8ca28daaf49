"""Shows a JSON body as a collapsible tree, read and built off the GUI thread; and what other views share with it: the
reason if it cannot be shown, the menu and Enter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QColor, QFont, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStackedWidget, QTreeView, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.embedded_values import HEAD, VALUE_MAX, Embedded, decode, may_decode
from app.core.bodies.escape import escape
from app.core.bodies.formats.json_tree import ROOT, TEXT_MAX, JsonTree, TreeError
from app.core.bodies.unix_time import describe, unix_time
from app.core.text import size_text
from app.ui.inspector.body.body_source import BodySource, read_plain
from app.ui.inspector.body.source_view import SourceView
from app.ui.inspector.body.text_style import TextSize
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import label, plain_tooltip
from app.ui.widgets.layout import vbox
from app.ui.widgets.rows import NO_INDEX, Index
from app.ui.widgets.view_actions import add_view_action

OPEN_MAX = 2_000
"""Maximum nodes expanded by one command."""
FIRST_OPEN = 60
"""Up to this many top-level values, small ones are shown expanded."""
NAME, VALUE = range(2)
NODE_BITS = 20
"""Bits of an index's ID that number a node within its tree: enough for `json_tree.NODES_MAX`."""
_TIME_MAX = 40
"""Maximum characters of a value that may be a time, as written."""


class BodyTree(QTreeView):
    """Enter opens the current row. The context menu has the actions of the view."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.value_actions: list[QAction] = []
        """They are enabled while `has_value` is true of the current row."""
        self.setUniformRowHeights(True)
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
        self.stack = QStackedWidget(self)
        self.stack.addWidget(view)
        self.stack.addWidget(self.reason)
        self.setFocusProxy(view)
        vbox(self.stack, inside=self, margins=0)

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


class TreePlace(NamedTuple):
    """The node with this number in this tree; tree 0 is the body."""

    tree: int
    node: int


class TreeModel(QAbstractItemModel):
    """Two columns, name and value. The decoded content of a string is a tree of its own, whose root is the string's
    child.

    `decode_requested` carries the place and text of an expanded string; pass the result to `add_decoded`.
    """

    decode_requested = Signal(object, object)

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tree: JsonTree | None = None
        self._trees: list[JsonTree] = []
        self._origins: list[tuple[TreePlace, Embedded] | None] = []
        self._decoded_trees: dict[TreePlace, int] = {}
        self._may: dict[TreePlace, bool] = {}
        self._requested: set[TreePlace] = set()
        self._italic = QFont()
        self._italic.setItalic(True)

    def set_tree(self, tree: JsonTree | None) -> None:
        self.beginResetModel()
        self.tree = tree
        self._trees, self._origins = ([tree], [None]) if tree is not None else ([], [])
        self._decoded_trees, self._may, self._requested = {}, {}, set()
        self.endResetModel()

    def set_base_font(self, font: QFont) -> None:
        """The view's font, the base of the italic font of marks."""
        self._italic = QFont(font)
        self._italic.setItalic(True)

    def place(self, index: Index) -> TreePlace:
        """The node of an index."""
        return TreePlace(int(index.internalId()) >> NODE_BITS, int(index.internalId()) & ((1 << NODE_BITS) - 1))

    def plain(self, index: Index) -> str:
        """The value to copy: a string without quotes and escapes."""
        place = self.place(index)
        return self._trees[place.tree].plain(place.node)

    def path(self, index: Index) -> str:
        """The path from the root; `data.token → sub` into decoded content."""
        place = self.place(index)
        origin = self._origins[place.tree]
        path = self._trees[place.tree].path(place.node)
        if origin is None:
            return path
        above = self.path(self.index_of(origin[0]))
        return above if place.node == ROOT else f"{above} → {path}"

    def can_decode(self, index: Index) -> bool:
        """Whether a string there looks like encoded data, decoded or not."""
        return index.isValid() and self._may_decode(self.place(index))

    def add_decoded(self, place: TreePlace, decoded: tuple[Embedded, JsonTree] | None, tree: JsonTree | None) -> None:
        """Show the decoded content of a string of this `tree`; None if there was nothing to decode."""
        if tree is None or tree is not self.tree:
            return
        self._requested.discard(place)
        index = self.index_of(place)
        if decoded is None:
            self._may[place] = False
            self.dataChanged.emit(index, index.siblingAtColumn(VALUE))
        elif place not in self._decoded_trees:
            self.beginInsertRows(index, 0, 0)
            self._decoded_trees[place] = len(self._trees)
            self._trees.append(decoded[1])
            self._origins.append((place, decoded[0]))
            self.endInsertRows()

    def index(self, row: int, column: int, parent: Index = NO_INDEX) -> QModelIndex:
        if self.tree is None or not self.hasIndex(row, column, parent):
            return QModelIndex()
        if not parent.isValid():
            return self._created(row, column, TreePlace(0, ROOT))
        place = self.place(parent)
        inside = self._decoded_trees.get(place)
        if inside is not None:
            return self._created(row, column, TreePlace(inside, ROOT))
        return self._created(row, column, TreePlace(place.tree, self._trees[place.tree].children(place.node)[row]))

    def parent(self, index: Index = NO_INDEX) -> QModelIndex:  # type: ignore[override]
        """The parent of a node; none for the root."""
        if self.tree is None or not index.isValid():
            return QModelIndex()
        place = self.place(index)
        above = self._trees[place.tree].parent(place.node)
        if above >= 0:
            return self.index_of(TreePlace(place.tree, above))
        origin = self._origins[place.tree]
        return self.index_of(origin[0]) if origin else QModelIndex()

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        if self.tree is None:
            return 0
        if not parent.isValid():
            return 1
        place = self.place(parent)
        if parent.column() != NAME:
            return 0
        return 1 if place in self._decoded_trees else len(self._trees[place.tree].children(place.node))

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 2

    def hasChildren(self, parent: Index = NO_INDEX) -> bool:
        """A string that can be decoded has its decoded content as a child."""
        if self.rowCount(parent):
            return True
        return parent.isValid() and parent.column() == NAME and self._may_decode(self.place(parent))

    def canFetchMore(self, parent: Index) -> bool:
        """A string that is expanded for the first time."""
        return (
            parent.isValid()
            and parent.column() == NAME
            and not self.rowCount(parent)
            and self._may_decode(self.place(parent))
        )

    def fetchMore(self, parent: Index) -> None:
        """Request decoding; the child is added later."""
        place = self.place(parent)
        if self.canFetchMore(parent) and place not in self._requested:
            self._requested.add(place)
            self.decode_requested.emit(place, self.plain(parent))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped, in the colours of Pretty."""
        if self.tree is None or not index.isValid():
            return None
        place, named = self.place(index), index.column() == NAME
        tree, origin = self._trees[place.tree], self._origins[place.tree]
        marked = origin is not None and place.node == ROOT and named
        if role == Qt.ItemDataRole.DisplayRole:
            if marked and origin is not None:
                return mark(origin[1])
            return escape((tree.name(place.node)[:1_000] or "$") if named else tree.summary(place.node))
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour("mark" if marked else "key" if named else tree.kind(place.node))
        if role == Qt.ItemDataRole.FontRole:
            return self._italic if marked else None
        return self._tooltip(place) if role == Qt.ItemDataRole.ToolTipRole else None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return ("Name", "Value")[section] if role == Qt.ItemDataRole.DisplayRole else None

    def _created(self, row: int, column: int, place: TreePlace) -> QModelIndex:
        return self.createIndex(row, column, (place.tree << NODE_BITS) | place.node)

    def index_of(self, place: TreePlace) -> QModelIndex:
        """The index of a node."""
        return self._created(self._trees[place.tree].row(place.node), NAME, place)

    def _may_decode(self, place: TreePlace) -> bool:
        found = self._may.get(place)
        if found is None:
            found = self._may[place] = self._looks_decodable(self._trees[place.tree], place.node)
        return found

    def _looks_decodable(self, tree: JsonTree, node: int) -> bool:
        if tree.kind(node) != "string" or tree.length(node) > VALUE_MAX:
            return False
        if tree.length(node) <= 2 * HEAD:
            return may_decode(tree.plain(node))
        # The beginning of a long text is enough; if an escape is cut, only the quotes are wrong.
        head = tree.beginning(node, 2 * HEAD)[1:].replace('\\"', '"').replace("\\/", "/")
        return may_decode(head.replace("\\n", "\n").replace("\\r", "\r"))

    def _tooltip(self, place: TreePlace) -> str | None:
        tree, origin = self._trees[place.tree], self._origins[place.tree]
        if origin is not None and place.node == ROOT and origin[1].note:
            return plain_tooltip(origin[1].note)
        kind = tree.kind(place.node)
        if kind not in ("number", "string") or tree.length(place.node) > _TIME_MAX:
            return None
        moment = unix_time(tree.plain(place.node), tree.name(place.node), quoted=kind == "string")
        return plain_tooltip(describe(moment)) if moment else None

    def _colour(self, kind: str) -> QColor:
        tokens = self._theme.tokens
        colours = {
            "key": tokens.code_key,
            "string": tokens.code_string,
            "number": tokens.code_number,
            "literal": tokens.code_literal,
        }
        return QColor(colours.get(kind, tokens.text_muted))


def mark(embedded: Embedded) -> str:
    """The text of a row that says that what is below it is decoded, not as it was sent."""
    more = ", not verified" if embedded.source == "JSON Web Token" else ""
    return f"decoded from {embedded.source}{more}"


def decoded_tree(embedded: Embedded) -> JsonTree:
    """Plain text becomes a tree of one string. Slow: not for the GUI thread."""
    if embedded.is_json:
        try:
            return JsonTree(embedded.text)
        except TreeError:
            pass  # Too large or too deep for a tree: shown as one string.
    return JsonTree(json.dumps(embedded.text, ensure_ascii=False))


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
