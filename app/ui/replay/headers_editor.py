"""Edits headers as a table or as text: two views of the same headers."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.core.record import Headers
from app.ui.replay.text_edit import TextEdit
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label
from app.ui.widgets.segmented import Segmented

NAME, VALUE = 0, 1
TITLES = ("Name", "Value")
TABLE, TEXT = "table", "text"
NAME_WIDTH = 200
BAR_HEIGHT = 28
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()


def header_lines(headers: Headers) -> str:
    """One `Name: value` on each line."""
    return "\n".join(f"{name}: {value}" for name, value in headers)


def parse_headers(text: str) -> tuple[Headers, str | None]:
    """The headers, and what is wrong with the first malformed line; empty lines are skipped."""
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            return tuple(headers), f"Line {number} must read “Name: value”."
        headers.append((name.strip(), value.strip()))
    return tuple(headers), None


class HeadersModel(QAbstractTableModel):
    """Every cell can be edited."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.headers: list[tuple[str, str]] = []

    def set_headers(self, headers: Headers) -> None:
        self.beginResetModel()
        self.headers = list(headers)
        self.endResetModel()

    def add(self) -> int:
        """Append an empty header; its row."""
        row = len(self.headers)
        self.beginInsertRows(QModelIndex(), row, row)
        self.headers.append(("", ""))
        self.endInsertRows()
        return row

    def remove(self, row: int) -> None:
        self.beginRemoveRows(QModelIndex(), row, row)
        del self.headers[row]
        self.endRemoveRows()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.headers)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        shown = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole)
        return self.headers[index.row()][index.column()] if index.isValid() and role in shown else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name, old = self.headers[index.row()]
        self.headers[index.row()] = (str(value).strip(), old) if index.column() == NAME else (name, str(value).strip())
        self.dataChanged.emit(index, index)
        return True

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable


class HeadersEditor(QWidget):
    """`changed` follows each edit by the user. Del removes the selected header of the table."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.original: Headers = ()
        self.model = HeadersModel(self)
        self.views = Segmented(((TABLE, "Table"), (TEXT, "Text")), self, compact=True)
        self.views.setAccessibleName("Edit headers as")
        self.table = QTableView(self)
        self.text = TextEdit("Headers as text", theme, self)
        self.add = Button("Add header", theme, self, kind="ghost", icon="add")
        self.remove = Button("Remove", theme, self, kind="ghost", icon="delete")
        self.reset = Button("Reset", theme, self, kind="ghost", icon="undo")
        self.reset.setAccessibleName("Reset headers")
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        self._set_up_table()
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.text)
        bar = QHBoxLayout()
        bar.setSpacing(metrics.SPACE_1)
        bar.addWidget(self.views)
        bar.addStretch(1)
        for button in (self.add, self.remove, self.reset):
            button.setProperty("compact", True)
            button.setFixedHeight(BAR_HEIGHT)
            bar.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_2)
        column.addLayout(bar)
        column.addWidget(self._pages, 1)
        column.addWidget(self._error)
        self.views.set_current(TABLE)
        self._connect()

    def load(self, headers: Headers) -> None:
        """Edit these; `reset` returns to them."""
        self.original = headers
        self._show(headers)

    def value(self) -> Headers:
        """What is edited now; malformed lines of the text are left out (see `problem`). Empty rows are skipped."""
        if self.views.current() == TEXT:
            return parse_headers(self.text.text())[0]
        return tuple((name, value) for name, value in self.model.headers if name or value)

    def problem(self) -> str | None:
        """What is wrong with the text."""
        return parse_headers(self.text.text())[1] if self.views.current() == TEXT else None

    def set_error(self, message: str | None) -> None:
        self._error.setText(message or "")
        self._error.setVisible(bool(message))

    def _set_up_table(self) -> None:
        table = self.table
        table.setModel(self.model)
        table.setProperty("part", "edited")
        table.setAccessibleName("Headers")
        table.setFont(mono_font())
        table.setShowGrid(False)
        table.setTabKeyNavigation(False)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        triggers = QAbstractItemView.EditTrigger
        table.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed | triggers.SelectedClicked
        )
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(metrics.ROW_DENSE)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(NAME, NAME_WIDTH)

    def _connect(self) -> None:
        self.views.activated.connect(self._switch)
        self.add.clicked.connect(self._add)
        self.remove.clicked.connect(self._remove)
        self.reset.clicked.connect(self._reset)
        self.model.dataChanged.connect(self._edited)
        self.model.rowsInserted.connect(self._edited)
        self.model.rowsRemoved.connect(self._edited)
        self.text.textChanged.connect(self._edited)
        delete = QShortcut(QKeySequence("Del"), self.table, self._remove)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)

    def _show(self, headers: Headers) -> None:
        self.model.set_headers(headers)
        self.text.show_text(header_lines(headers))

    @Slot(str)
    def _switch(self, view: str) -> None:
        """The other view shows what was edited in this one; malformed text stays in view."""
        if view == TABLE:
            headers, problem = parse_headers(self.text.text())
            if problem is not None:
                self.views.set_current(TEXT)
                self.set_error(problem)
                return
            self.model.set_headers(headers)
        else:
            headers = tuple((name, value) for name, value in self.model.headers if name or value)
            self.text.show_text(header_lines(headers))
        self._pages.setCurrentIndex(view == TEXT)
        self.add.setVisible(view == TABLE)
        self.remove.setVisible(view == TABLE)
        self.changed.emit()

    @Slot()
    def _add(self) -> None:
        index = self.model.index(self.model.add(), NAME)
        self.table.setCurrentIndex(index)
        self.table.edit(index)

    @Slot()
    def _remove(self) -> None:
        index = self.table.currentIndex()
        if index.isValid():
            self.model.remove(index.row())

    @Slot()
    def _reset(self) -> None:
        self._show(self.original)
        self.changed.emit()

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()
