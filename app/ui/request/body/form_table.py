"""Shows a form as a table of names and values with groups; it is read and decoded off the GUI thread."""

from __future__ import annotations

import asyncio
import re
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QVBoxLayout, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.formats.form import FIELDS_MAX, FormField, FormTree, fields
from app.core.bodies.value_at_cursor import Value
from app.core.text import size_text
from app.ui.latest_only import Latest
from app.ui.request.body.body_source import BodySource, read_plain
from app.ui.request.body.form_model import NAME, SENT, VALUE, FormModel
from app.ui.request.body.view_actions import add_view_action
from app.ui.request.body.view_or_reason import ViewOrReason
from app.ui.request.tables.cell_delegate import CellDelegate
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme

BYTES_MAX = 16 * 1024 * 1024
"""Maximum bytes of an unpacked form shown as a table."""
OPEN_MAX = 1_000
"""Groups are expanded up to this number of rows."""


class FormTable(QWidget):
    """`show_source` shows a body. Enter shows a value in full, Ctrl+E what it decodes to, Ctrl+C copies rows."""

    value_requested = Signal(object)
    decode_requested = Signal(object)
    shown = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(tasks, "form: load")
        self.view = _FormView(theme, self)
        self.stack = ViewOrReason(self.view, self)
        self.why = self.stack.reason
        self.setFocusProxy(self.view)
        self.view.value_requested.connect(self.value_requested)
        self.view.decode_requested.connect(self.decode_requested)
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

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern; None marks nothing."""
        self.view.mark(pattern)

    async def _load(self, source: BodySource) -> None:
        data = await read_plain(source, BYTES_MAX, self._latest)
        if data is None:
            return
        found = await asyncio.get_running_loop().run_in_executor(None, _read, source.content_type, data)
        if self._latest.superseded:
            return
        if isinstance(found, str):
            self._say(found)
        else:
            self.view.show_tree(found)
            self.stack.show_view()
        self.shown.emit()

    def _say(self, why: str) -> None:
        self.view.show_tree(None)
        self.stack.show_reason(why)


class _FormView(QTreeView):
    value_requested = Signal(object)
    decode_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.fields = FormModel(theme, self)
        self._single = [
            add_view_action(self, "Show value", self.show_value),
            add_view_action(self, "Decode value", self.decode_value, "Ctrl+E"),
        ]
        add_view_action(self, "Copy value", self.copy_values)
        add_view_action(self, "Copy name and value", self.copy_rows, QKeySequence.StandardKey.Copy)
        add_view_action(self, "Copy as sent", self.copy_sent)
        self.setModel(self.fields)
        self._delegate = CellDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setFont(mono_font(SMALL))
        self.setUniformRowHeights(True)
        self.setProperty("frameless", True)
        self.setProperty("part", "form")
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setAccessibleName("Form fields")
        self.setExpandsOnDoubleClick(False)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.header().setMinimumSectionSize(60)
        self._sized = False
        self.doubleClicked.connect(self._open)

    def show_tree(self, tree: FormTree | None) -> None:
        """Groups are expanded if there are few rows."""
        self.fields.set_tree(tree)
        if tree is None:
            return
        flat = all(tree.field(node) is not None for node in tree.children(-1))
        self.setRootIsDecorated(not flat)
        if len(tree) <= OPEN_MAX:
            self.expandAll()
        self.setCurrentIndex(self.fields.index(0, NAME))
        self.clearSelection()
        self._sized = False
        self._fit_columns()
        self.scrollToTop()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        self._delegate.pattern = pattern
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The columns fill the width until the user resizes them."""
        super().resizeEvent(event)
        self._fit_columns()
        if self.hasFocus():
            self.scrollTo(self.currentIndex())  # A value shown below must not hide its row.

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter shows the value in full, and opens or closes a group."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._open(self.currentIndex())
            event.accept()
            return
        super().keyPressEvent(event)

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        """A group has no value."""
        super().currentChanged(current, previous)
        for action in self._single:
            action.setEnabled(self.fields.field(current) is not None)

    @Slot()
    def show_value(self) -> None:
        """Show the current value in full."""
        field = self.fields.field(self.currentIndex())
        if field is not None:
            self.value_requested.emit(_value(field))

    @Slot()
    def decode_value(self) -> None:
        """Show the decoded current value."""
        field = self.fields.field(self.currentIndex())
        if field is not None:
            self.decode_requested.emit(_value(field))

    @Slot()
    def copy_values(self) -> None:
        """The selected rows' values, one to a line."""
        self._copy([field.value for field in self._chosen()])

    @Slot()
    def copy_rows(self) -> None:
        """The selected rows, one to a line."""
        self._copy([f"{field.name}: {field.value}" for field in self._chosen()])

    @Slot()
    def copy_sent(self) -> None:
        """The selected rows as they were sent."""
        self._copy(["&".join(field.sent for field in self._chosen())])

    def _open(self, index: QModelIndex) -> None:
        first = index.siblingAtColumn(NAME)
        if self.fields.rowCount(first):
            self.setExpanded(first, not self.isExpanded(first))
        else:
            self.show_value()

    def _chosen(self) -> list[FormField]:
        """The selected fields from top to bottom, with everything in selected groups."""
        rows = self.selectionModel().selectedRows(NAME) or [self.currentIndex().siblingAtColumn(NAME)]
        nodes: dict[int, None] = {}
        for index in sorted(rows, key=self._top):
            if index.isValid():
                self._gather(int(index.internalId()), nodes)
        tree = self.fields.tree
        found = (tree.field(node) for node in nodes) if tree is not None else ()
        return [field for field in found if field is not None]

    def _gather(self, node: int, nodes: dict[int, None]) -> None:
        nodes.setdefault(node)
        for child in self.fields.tree.children(node) if self.fields.tree is not None else ():
            self._gather(child, nodes)

    def _top(self, index: QModelIndex) -> tuple[int, ...]:
        place: list[int] = []
        while index.isValid():
            place.append(index.row())
            index = index.parent()
        return tuple(reversed(place))

    def _copy(self, lines: list[str]) -> None:
        if any(lines):
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _fit_columns(self) -> None:
        """Fit the names, within bounds; value and original pair share the rest."""
        if self.fields.tree is None:
            return
        width = self.viewport().width()
        if not self._sized:
            names = self.sizeHintForColumn(NAME) + metrics.SPACE_4
            self.setColumnWidth(NAME, min(max(120, names), int(width * 0.4)))
            self._sized = width > 200
        rest = max(200, width - self.columnWidth(NAME))
        self.setColumnWidth(VALUE, rest * 3 // 5)
        self.setColumnWidth(SENT, rest - rest * 3 // 5)


def _value(field: FormField) -> Value:
    return Value(field.value, field.name, True)


def _read(content_type: str, data: bytes) -> FormTree | str:
    """The fields, or the reason why they cannot be shown as a table."""
    if len(data) > BYTES_MAX:
        return f"This form is larger than {size_text(BYTES_MAX)}, too large for a table. Use Pretty instead."
    charset = detect(content_type, data, True)
    found = fields(charset.decoder().decode(data[charset.skip :], True), content_type)
    if len(found) > FIELDS_MAX:
        return f"This form has more than {FIELDS_MAX:,} fields, too many for a table. Pretty shows them."
    return FormTree(found)
