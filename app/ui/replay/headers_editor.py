"""Edits headers as a table or as text: two views of the same headers."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStackedWidget, QWidget

from app.core.record import Headers
from app.ui.replay.text_edit import TextEdit
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsView
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.text_fields import header_lines, parse_headers

NAME, VALUE = 0, 1
TABLE, TEXT = "table", "text"
NAME_WIDTH = 200
BAR_HEIGHT = 28


class HeadersModel(Rows[tuple[str, str]]):
    """Every cell can be edited."""

    def __init__(self, parent: QObject) -> None:
        super().__init__([Column("Name", lambda header: header[0]), Column("Value", lambda header: header[1])], parent)

    def headers(self) -> Headers:
        """Without empty rows."""
        return tuple((name, value) for name, value in self.records() if name or value)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.EditRole:
            return self.record(index.row())[index.column()]
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name, old = self.record(index.row())
        text = str(value).strip()
        self.replace_record(index.row(), (text, old) if index.column() == NAME else (name, text))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable


class HeadersEditor(QWidget):
    """`changed` follows each edit by the user. Del removes the selected header of the table."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.original: Headers = ()
        self.model = HeadersModel(self)
        self.views = Segmented(((TABLE, "Table"), (TEXT, "Text")), self, compact=True)
        self.views.setAccessibleName("Edit headers as")
        self.table = RowsView("Headers", self, "edited")
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
        bar = hbox(self.views, Stretch(), spacing=metrics.SPACE_1)
        for button in (self.add, self.remove, self.reset):
            button.setProperty("compact", True)
            button.setFixedHeight(BAR_HEIGHT)
            bar.addWidget(button)
        vbox(bar, (self._pages, 1), self._error, inside=self, spacing=metrics.SPACE_2, margins=0)
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
        return self.model.headers()

    def problem(self) -> str | None:
        """What is wrong with the text."""
        return parse_headers(self.text.text())[1] if self.views.current() == TEXT else None

    def set_error(self, message: str | None) -> None:
        self._error.setText(message or "")
        self._error.setVisible(bool(message))

    def _set_up_table(self) -> None:
        table = self.table
        table.show_rows(self.model, metrics.ROW_DENSE)
        table.setFont(mono_font())
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        triggers = QAbstractItemView.EditTrigger
        table.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed | triggers.SelectedClicked
        )
        header = table.horizontalHeader()
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
        self.model.set_records(headers)
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
            self.model.set_records(headers)
        else:
            self.text.show_text(header_lines(self.model.headers()))
        self._pages.setCurrentIndex(view == TEXT)
        self.add.setVisible(view == TABLE)
        self.remove.setVisible(view == TABLE)
        self.changed.emit()

    @Slot()
    def _add(self) -> None:
        row = self.model.rowCount()
        self.model.insert_records(row, [("", "")])
        index = self.model.index(row, NAME)
        self.table.setCurrentIndex(index)
        self.table.edit(index)

    @Slot()
    def _remove(self) -> None:
        index = self.table.currentIndex()
        if index.isValid():
            self.model.remove_records(index.row())

    @Slot()
    def _reset(self) -> None:
        self._show(self.original)
        self.changed.emit()

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()
