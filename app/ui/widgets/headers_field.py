"""A field of headers: a grid to type them, and the same as text, a `Name: value` on each line, to paste or copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFocusEvent, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QCompleter,
    QHeaderView,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.core.record import Headers
from app.core.rules import headers_error
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import is_enter
from app.ui.widgets.labels import plain_tooltip, style
from app.ui.widgets.layout import vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsView
from app.ui.widgets.text_fields import TextArea, raw_text

GRID, TEXT = "grid", "text"
_ROWS_MAX = 5
NAME, VALUE, REMOVE = 0, 1, 2
_EMPTY = ("", "")
NEW = "Add header"
_NAME_WIDTH = 200
_REMOVE_WIDTH = 32
_PADDING = 11
"""Pixels from a cell's edge to its text: the style sheet's padding and what Qt adds to it."""
_HINT = QAbstractItemDelegate.EndEditHint
_NAMES = (
    "Accept Accept-Encoding Accept-Language Access-Control-Allow-Headers Access-Control-Allow-Methods"
    " Access-Control-Allow-Origin Allow Authorization Cache-Control Content-Disposition Content-Encoding"
    " Content-Language Content-Type Cookie Date ETag Expires Host Idempotency-Key If-Match If-Modified-Since"
    " If-None-Match Last-Modified Link Location Origin Pragma Range Referer Retry-After Server Set-Cookie"
    " Strict-Transport-Security User-Agent Vary Via WWW-Authenticate X-Api-Key X-Correlation-Id X-Forwarded-For"
    " X-Forwarded-Host X-Forwarded-Proto X-GitHub-Event X-Hub-Signature-256 X-Request-Id"
)


class HeadersField(QWidget):
    """`title` names it in messages, and Hookline sets the headers in `own` itself. Place `views`, too, which switches
    between grid and text; `text` edits the lines.

    If it `fits_rows`, it is as high as its rows, up to five, and the one that typing may add.
    """

    changed = Signal()

    def __init__(
        self,
        title: str,
        own: frozenset[str],
        theme: Theme,
        parent: QWidget,
        *,
        fits_rows: bool = False,
        text: QPlainTextEdit | None = None,
    ) -> None:
        super().__init__(parent)
        self._title, self._own, self._fits_rows = title, own, fits_rows
        self._given: Headers = ()
        self.views = Segmented(((GRID, "Table"), (TEXT, "Text")), parent, compact=True)
        self.views.setAccessibleName(f"Edit {title.lower()} as")
        self.grid = HeaderGrid(title, theme, self)
        self.grid.horizontalHeader().setHidden(fits_rows)
        self.text = text or TextArea(self._height_of(_ROWS_MAX), self)
        self.text.setPlaceholderText("Name: value")
        self.text.setAccessibleName(f"{title} as text")
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.grid)
        self._pages.addWidget(self.text)
        vbox(self._pages, inside=self)
        self.set_value(())
        self.views.activated.connect(self._switch)
        for signal in (self.grid.rows.dataChanged, self.grid.rows.rowsInserted, self.grid.rows.rowsRemoved):
            signal.connect(self._edited)
        self.text.textChanged.connect(self._edited)
        self.grid.cell_left.connect(self._fit)

    def value(self) -> Headers:
        """In the order typed, without empty rows; of malformed text those up to the first line that `problem` names."""
        return parse_headers(raw_text(self.text))[0] if self._is_text() else self.grid.rows.headers()

    def set_value(self, headers: Headers) -> None:
        self._given = headers
        self.grid.rows.set_headers(headers)
        self.text.setPlainText(header_lines(headers))
        self._show_view(self.views.current() or GRID)
        self._edited()

    def problem(self) -> str | None:
        """Why it cannot be saved as edited; what was given may break the rules."""
        problem = parse_headers(raw_text(self.text), self._title)[1] if self._is_text() else None
        return problem or (self._error(self.value()) if self.value() != self._given else None)

    def _is_text(self) -> bool:
        return self.views.current() == TEXT

    def _error(self, headers: Headers) -> str | None:
        return headers_error(headers, self._title, self._own)

    @Slot()
    def _edited(self) -> None:
        self.grid.rows.check = self._error if self.value() != self._given else None
        if not self.grid.is_editing():  # nothing below moves while the user types
            self._fit()
        self.changed.emit()

    @Slot()
    def _fit(self) -> None:
        if self._fits_rows:
            rows = _ROWS_MAX if self._is_text() else min(self.grid.rows.rowCount() + 1, _ROWS_MAX)
            self._pages.setFixedHeight(self._height_of(rows))

    def _height_of(self, rows: int) -> int:
        return rows * metrics.ROW_DENSE + 2 * self.grid.frameWidth()

    @Slot(str)
    def _switch(self, view: str) -> None:
        """The other view shows what was edited in this one; malformed text stays in view."""
        if view == TEXT:
            self.text.setPlainText(header_lines(self.grid.rows.headers()))
        else:
            headers, problem = parse_headers(raw_text(self.text))
            if problem is not None:
                self.views.set_current(TEXT)
                return
            self.grid.rows.set_headers(headers)
        self._show_view(view)
        self._edited()

    def _show_view(self, view: str) -> None:
        self.views.set_current(view)
        old = self.focusProxy() or self.grid
        new = self.text if view == TEXT else self.grid
        self._pages.setCurrentWidget(new)
        self.setFocusProxy(new)
        # The form describes an error on the view that was shown.
        new.setAccessibleDescription(old.accessibleDescription())
        style(new, "invalid", old.property("invalid"))
        self._fit()


class _HeaderRows(Rows[tuple[str, str]]):
    """As typed. The last row is empty: what is typed there becomes a header, and another empty row follows."""

    def __init__(self, parent: QObject) -> None:
        columns = [
            Column[tuple[str, str]]("Name", lambda header: header[0]),
            Column[tuple[str, str]]("Value", lambda header: header[1]),
            Column[tuple[str, str]]("", lambda header: ""),
        ]
        super().__init__(columns, parent)
        self.check: Callable[[Headers], str | None] | None = None
        """Why headers cannot be saved."""
        self.set_headers(())

    def headers(self) -> Headers:
        """Without empty rows."""
        return tuple(header for name, value in self.records() if any(header := (_trimmed(name), _trimmed(value))))

    def set_headers(self, headers: Headers) -> None:
        self.set_records([*headers, _EMPTY])

    def add_headers(self, row: int, headers: Headers) -> None:
        """Put these below this row, or in its place if it is empty."""
        if self.record(row) != _EMPTY:
            row += 1
        elif row + 1 < self.rowCount():
            self.remove_records(row)
        self.insert_records(row, headers)

    def fault(self, index: Index) -> str | None:
        """Why what is in this cell cannot be saved."""
        name, value = map(_trimmed, self.record(index.row()))
        if self.check is None or index.column() == REMOVE or not (name or value):
            return None
        message = self.check(((name, value),))
        in_name = message is not None and self.check(((name, ""),)) is not None
        return message if in_name == (index.column() == NAME) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        record, removes = self.record(index.row()), index.column() == REMOVE
        empty = record == _EMPTY
        if role == Qt.ItemDataRole.EditRole and not removes:
            return record[index.column()]
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return self.fault(index)
        if role == Qt.ItemDataRole.ToolTipRole:
            if removes:
                return None if empty else "Remove"
            if fault := self.fault(index):
                return plain_tooltip(fault)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if removes:
                return "Nothing to remove" if empty else f"Remove {record[NAME] or 'header'}"
            if empty:
                return f"{NEW}: {self.columns[index.column()].title.lower()}"
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row, text = index.row(), str(value)
        name, old = record = self.record(row)
        if index.column() == REMOVE or text == record[index.column()]:
            return False
        if pasted := _pasted(text, into_name=index.column() == NAME and not name):
            self.add_headers(row, pasted)
            self.refresh_cells()  # the editor of the cell shows what the cell has
            return True
        self.replace_record(row, (text, old) if index.column() == NAME else (name, text))
        last = self.rowCount() - 1
        if row == last:
            self.insert_records(row + 1, [_EMPTY])
        elif row == last - 1 and self.record(row) == _EMPTY:
            self.remove_records(last)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags if index.column() == REMOVE else flags | Qt.ItemFlag.ItemIsEditable


def _pasted(text: str, *, into_name: bool) -> Headers:
    """The headers that `text` has on its lines, if it has several; `into_name`: also of a single one, which comes whole
    only from the clipboard."""
    headers, problem = parse_headers(text)
    return headers if problem is None and len(headers) > (0 if into_name else 1) else ()


class _CellField(QLineEdit):
    """`before` is what the cell had before it was edited."""

    left = Signal(QWidget, _HINT)
    """Itself, and where Tab leads."""

    def __init__(self, cell: Index, parent: QWidget) -> None:
        super().__init__(parent)
        self.cell = QPersistentModelIndex(cell)
        self.before: str = cell.data(Qt.ItemDataRole.EditRole)
        self.names: QListView | None = None
        """Where names are offered."""

    def offer(self, names: list[str]) -> None:
        completer = QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.names = QListView()
        self.names.setProperty("part", "choices")
        completer.setPopup(self.names)
        self.setCompleter(completer)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, which ends the editing, is not passed on to the dialog."""
        choosing = self.names is not None and self.names.isVisible()
        super().keyPressEvent(event)
        if is_enter(event) and not choosing:
            event.accept()

    def focusNextPrevChild(self, onward: bool) -> bool:
        """The list of names passes Tab on past the delegate."""
        if self.names is None or not self.names.isVisible():
            return super().focusNextPrevChild(onward)
        self.left.emit(self, _HINT.EditNextItem if onward else _HINT.EditPreviousItem)
        self.names.hide()
        return True


class _CellDelegate(QStyledItemDelegate):
    """The model has each key stroke at once: a dialog may be saved by a key while a cell is edited."""

    def __init__(self, rows: _HeaderRows, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows, self._theme = rows, theme

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = _CellField(index, parent)
        field.setFont(option.font)
        title = self._rows.columns[index.column()].title
        field.setAccessibleName(f"{title} of header {index.row() + 1}")
        if index.column() == NAME:
            field.offer(_NAMES.split())
        field.textChanged.connect(self._typed)
        field.left.connect(self.closeEditor)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """The caret stays where nothing changed."""
        assert isinstance(editor, _CellField)
        text = index.data(Qt.ItemDataRole.EditRole)
        if editor.text() != text:
            blocked = editor.blockSignals(True)
            editor.setText(text)
            editor.blockSignals(blocked)
        editor.setProperty("invalid", self._rows.fault(index) is not None)
        editor.style().polish(editor)

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, _CellField)
        model.setData(index, editor.text())

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setGeometry(option.rect)

    @Slot()
    def _typed(self) -> None:
        self.commitData.emit(self.sender())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if not option.state & QStyle.StateFlag.State_Enabled:
            return
        empty, tokens = self._rows.record(index.row()) == _EMPTY, self._theme.tokens
        cell = option.rect.adjusted(0, 0, -1, -1)
        if index.column() == REMOVE and not empty:
            pointed = bool(option.state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_HasFocus))
            self._paint_icon(painter, option.rect, "delete", "text" if pointed else "text_faint")
        elif index.column() == NAME and empty and index.row() == self._rows.rowCount() - 1:
            painter.setPen(QColor(tokens.text_faint))
            painter.drawText(cell.adjusted(_PADDING, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), NEW)
        wrong = self._rows.fault(index) is not None
        if wrong:
            right = cell.adjusted(cell.width() - _REMOVE_WIDTH, 1, 0, 0)
            painter.fillRect(right, QColor(tokens.surface))
            self._paint_icon(painter, right, "warning", "danger")
        if wrong or option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(tokens.danger if wrong else tokens.accent))
            painter.drawRect(cell)

    def _paint_icon(self, painter: QPainter, place: QRect, name: str, colour: str) -> None:
        pixmap = self._theme.pixmap(name, colour, metrics.ICON, painter.device().devicePixelRatioF())
        left = place.left() + (place.width() - metrics.ICON) // 2
        painter.drawPixmap(left, place.top() + (place.height() - metrics.ICON) // 2, pixmap)


class HeaderGrid(RowsView):
    """Tab goes from cell to cell and out at the end. Enter or a key of text edits a cell, Del removes a row.

    `cell_left` follows when the editing of a cell has ended.
    """

    cell_left = Signal()

    def __init__(self, name: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(name, parent, "edited")
        self.rows = _HeaderRows(self)
        self.show_rows(self.rows, metrics.ROW_DENSE)
        self.setItemDelegate(_CellDelegate(self.rows, theme, self))
        self.setFont(mono_font())
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed)
        titles = self.horizontalHeader()
        titles.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        titles.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        titles.setSectionResizeMode(REMOVE, QHeaderView.ResizeMode.Fixed)
        titles.setMinimumSectionSize(_REMOVE_WIDTH)
        titles.resizeSection(NAME, _NAME_WIDTH)
        titles.resizeSection(REMOVE, _REMOVE_WIDTH)
        self.clicked.connect(self._use)

    def is_editing(self) -> bool:
        return self.state() == QAbstractItemView.State.EditingState

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.matches(QKeySequence.StandardKey.Paste) and index.isValid():
            self.rows.setData(index, QGuiApplication.clipboard().text())
        elif event.key() == Qt.Key.Key_Delete:
            self._remove(index.row())
        elif is_enter(event):
            self._use(index)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Below the rows it is the empty one that is meant."""
        super().mousePressEvent(event)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and not self.is_editing() and not self.indexAt(event.position().toPoint()).isValid():
            self._use(self.rows.index(self.rows.rowCount() - 1, NAME))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tab begins at the first cell, Shift+Tab at the last."""
        super().focusInEvent(event)
        if event.reason() == Qt.FocusReason.TabFocusReason:
            self.setCurrentIndex(self.rows.index(0, NAME))
        elif event.reason() == Qt.FocusReason.BacktabFocusReason:
            self.setCurrentIndex(self.rows.index(self.rows.rowCount() - 1, VALUE))

    def focusNextPrevChild(self, onward: bool) -> bool:
        cell = self._next_cell(1 if onward else -1)
        if self.hasFocus() and cell.isValid():
            self.setCurrentIndex(cell)
            return True
        return super().focusNextPrevChild(onward)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Where Tab leads from a cell that is edited; nowhere at the end."""
        if action == QAbstractItemView.CursorAction.MoveNext:
            return self._next_cell(1)
        if action == QAbstractItemView.CursorAction.MovePrevious:
            return self._next_cell(-1)
        return super().moveCursor(action, modifiers)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        assert isinstance(editor, _CellField)
        if hint == _HINT.RevertModelCache and editor.cell.isValid():
            self.rows.setData(editor.cell, editor.before)
        super().closeEditor(editor, hint)
        if hint in (_HINT.EditNextItem, _HINT.EditPreviousItem) and not self.is_editing():
            self.focusNextPrevChild(hint == _HINT.EditNextItem)
        self.cell_left.emit()

    def _next_cell(self, step: int) -> QModelIndex:
        """Invalid before the first and after the last."""
        index = self.currentIndex()
        if not index.isValid():
            return self.rows.index(0, NAME)
        row, column = divmod(2 * index.row() + min(index.column(), VALUE) + step, 2)
        return self.rows.index(row, column)

    @Slot(QModelIndex)
    def _use(self, index: QModelIndex) -> None:
        if index.column() == REMOVE:
            self._remove(index.row())
        elif index.isValid():
            self.edit(index)

    def _remove(self, row: int) -> None:
        """The empty row at the end stays."""
        if 0 <= row < self.rows.rowCount() - 1:
            self.rows.remove_records(row)


def _trimmed(text: str) -> str:
    """Without the blanks that HTTP leaves out; `str.strip` would also take bytes from the ends of UTF-8."""
    return text.strip(" \t\r\n")


def parse_headers(text: str, field: str = "") -> tuple[Headers, str | None]:
    """The headers, and what is wrong with the first malformed line of this field; empty lines are skipped."""
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not _trimmed(line):
            continue
        name, colon, value = map(_trimmed, line.partition(":"))
        if not colon or not name:
            return tuple(headers), f"{f'{field}: line' if field else 'Line'} {number} must read “Name: value”."
        headers.append((name, value))
    return tuple(headers), None


def header_lines(headers: Headers) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)
