"""Shows a form as a table of names and values; names with brackets form groups. Read and decoded off the GUI thread."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Slot
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.escape import escape_beginning
from app.core.bodies.formats.form import FIELDS_MAX, FormField, fields
from app.core.bodies.formats.trees import TOP, FormTree
from app.core.bodies.values import Value, time_words
from app.core.text import count_of, size_text
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.tree_view import BodyTree, BodyTreeModel, BodyTreePane
from app.ui.inspector.body.value_decoder import CellValues
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.marked_text import CellDelegate
from app.ui.widgets.rows import Index

NAME, VALUE, SENT = range(3)
CELL_MAX = 1_000
"""Maximum characters shown of a cell."""
BYTES_MAX = 16 * 1024 * 1024
"""Maximum bytes of an unpacked form shown as a table."""
OPEN_MAX = 1_000
"""Groups are expanded up to this number of rows."""


class FormModel(BodyTreeModel):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(("Name", "Value", "As sent"), parent)
        self._theme = theme
        self.tree: FormTree | None

    def field(self, index: Index) -> FormField | None:
        """None for a group."""
        return self.tree.field(self.node(index)) if self.tree is not None and index.isValid() else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped for display."""
        if self.tree is None or not index.isValid():
            return None
        node, column = self.node(index), index.column()
        field = self.tree.field(node)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(node, field, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(field, column)
        if role == Qt.ItemDataRole.ToolTipRole and field is not None and column == VALUE:
            return plain_tooltip(time_words(field.value, field.name, quoted=True)) or None
        return None

    def _text(self, node: int, field: FormField | None, column: int) -> str:
        assert self.tree is not None
        if column == NAME:
            return escape_beginning(self.tree.label(node), CELL_MAX)
        if field is None:
            return count_of(len(self.tree.children(node)), "field") if column == VALUE else ""
        return escape_beginning(field.value if column == VALUE else field.sent, CELL_MAX)

    def _colour(self, field: FormField | None, column: int) -> QColor:
        tokens = self._theme.tokens
        if column == NAME:
            return QColor(tokens.code_key)
        return QColor(tokens.text if column == VALUE and field is not None else tokens.text_muted)


class FormTable(BodyTreePane):
    """Enter shows a value in full, Ctrl+E what it decodes to, Ctrl+C copies rows."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        view = FormView(theme, parent)
        super().__init__(view, _read, tasks, parent, limit=BYTES_MAX, name="form")
        self.view, self.cells = view, view.cells


class FormView(BodyTree):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Form fields", parent)
        self.setProperty("part", "form")
        self.fields = FormModel(theme, self)
        self.values = CellValues(self, self._current)
        self.value_actions = [self.values.show_action, self.values.decode_action]
        add_view_action(self, "Copy value", self.copy_values)
        add_view_action(self, "Copy name and value", self.copy_rows, QKeySequence.StandardKey.Copy)
        add_view_action(self, "Copy as sent", self.copy_sent)
        self.setModel(self.fields)
        self.cells = CellDelegate(theme, self)
        self.setItemDelegate(self.cells)
        self.setFont(mono_font(SMALL))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setExpandsOnDoubleClick(False)
        self.header().setMinimumSectionSize(60)
        self._fitting = self._resized = False
        self.header().sectionResized.connect(self._column_resized)
        self.doubleClicked.connect(self._open_clicked)

    def show_tree(self, tree: FormTree | None) -> None:
        """Groups are expanded if there are few rows."""
        self.fields.set_tree(tree)
        if tree is None:
            return
        flat = all(tree.field(node) is not None for node in tree.children(TOP))
        self.setRootIsDecorated(not flat)
        if len(tree) <= OPEN_MAX:
            self.expandAll()
        self.setCurrentIndex(self.fields.index(0, NAME))
        self.clearSelection()
        self._resized = False
        self._fit_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The columns fill the width until the user resizes them."""
        super().resizeEvent(event)
        self._fit_columns()

    def has_value(self, index: QModelIndex) -> bool:
        """A group has none."""
        return self.fields.field(index) is not None

    def open_row(self, row: QModelIndex) -> bool:
        """Expand or collapse a group, or show a value in full."""
        if not super().open_row(row):
            self.values.show()
        return True

    @Slot()
    def copy_values(self) -> None:
        """The selected rows' values, one to a line."""
        self._copy([field.value for field in self._selected_fields()])

    @Slot()
    def copy_rows(self) -> None:
        """The selected rows, one to a line."""
        self._copy([f"{field.name}: {field.value}" for field in self._selected_fields()])

    @Slot()
    def copy_sent(self) -> None:
        """The selected rows as they were sent."""
        self._copy(["&".join(field.sent for field in self._selected_fields())])

    @Slot(QModelIndex)
    def _open_clicked(self, index: QModelIndex) -> None:
        self.open_row(index.siblingAtColumn(NAME))

    def _current(self) -> Value | None:
        field = self.fields.field(self.currentIndex())
        return Value(field.value, field.name, True) if field is not None else None

    def _selected_fields(self) -> list[FormField]:
        """The selected fields from top to bottom, with everything in selected groups."""
        rows = self.selectionModel().selectedRows(NAME) or [self.currentIndex().siblingAtColumn(NAME)]
        nodes: dict[int, None] = {}
        for index in sorted(rows, key=_row_path):
            if index.isValid():
                self._add_fields(self.fields.node(index), nodes)
        tree = self.fields.tree
        found = (tree.field(node) for node in nodes) if tree is not None else ()
        return [field for field in found if field is not None]

    def _add_fields(self, node: int, nodes: dict[int, None]) -> None:
        nodes.setdefault(node)
        for child in self.fields.tree.children(node) if self.fields.tree is not None else ():
            self._add_fields(child, nodes)

    def _copy(self, lines: list[str]) -> None:
        if any(lines):
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _fit_columns(self) -> None:
        """Fit the names, within bounds; value and original pair share the rest."""
        if self.fields.tree is None or self._resized:
            return
        width, names = self.viewport().width(), self.sizeHintForColumn(NAME) + metrics.SPACE_4
        self._fitting = True
        self.setColumnWidth(NAME, min(max(120, names), int(width * 0.4)))
        rest = max(200, width - self.columnWidth(NAME))
        self.setColumnWidth(VALUE, rest * 3 // 5)
        self.setColumnWidth(SENT, rest - rest * 3 // 5)
        self._fitting = False

    @Slot(int)
    def _column_resized(self, column: int) -> None:
        """By the user; the last column is resized with the view, too."""
        self._resized = self._resized or (column != SENT and not self._fitting)


def _row_path(index: QModelIndex) -> tuple[int, ...]:
    """The rows from the root to the index, to sort by."""
    path: list[int] = []
    while index.isValid():
        path.append(index.row())
        index = index.parent()
    return tuple(reversed(path))


def _read(content_type: str, data: bytes) -> FormTree | str:
    """The fields, or the reason why they cannot be shown as a table."""
    if len(data) > BYTES_MAX:
        return f"This form is larger than {size_text(BYTES_MAX)}, too large for a table. Use Pretty instead."
    found = fields(detect(content_type, data, True).decode(data), content_type)
    if len(found) > FIELDS_MAX:
        return f"This form has more than {FIELDS_MAX:,} fields, too many for a table. Use Pretty instead."
    return FormTree(found)
