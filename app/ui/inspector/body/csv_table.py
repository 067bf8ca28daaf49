"""Shows comma-separated values as a table: the first rows at once, the rest as they are read off the GUI thread."""

from __future__ import annotations

import re
from contextlib import aclosing
from functools import lru_cache
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionRange,
    QObject,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.core.bodies.decompressor import for_headers
from app.core.bodies.escape import escape_beginning
from app.core.bodies.formats.csv import COLUMNS_MAX, DELIMITERS, Block, CsvReader, Rows, has_header
from app.core.bodies.values import Value, time_words
from app.core.text import count_of
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.body_bars import view_footer
from app.ui.inspector.body.body_source import LOADING, BodySource, SourceView, plain_pieces
from app.ui.inspector.body.value_decoder import CellValues
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import ElidedLabel, plain_tooltip
from app.ui.widgets.layout import vbox
from app.ui.widgets.marked_text import CellDelegate
from app.ui.widgets.notices import Toast
from app.ui.widgets.rows import NO_INDEX, Index

CELL_MAX = 500
"""Maximum characters shown of a cell."""
_CACHED_ROWS = 500
CHARACTERS_MAX = 128 * 1024 * 1024
"""Maximum characters held in memory; the rest of a larger body is not shown."""
NARROWEST, WIDEST = 56, 320
"""Pixels of a column sized automatically; the user can drag it to any width."""
_FITTED_ROWS = 100
COPY_MAX = 100_000
"""Maximum cells that can be copied at once."""
_UNSAFE = re.compile(r'["\t\r\n]')


class CsvModel(QAbstractTableModel):
    """`header`: the first row names the columns and does not count as a row."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.start(Rows(","), header=False)

    def start(self, rows: Rows, *, header: bool) -> None:
        """`add` appends to these rows, which include the header."""
        self.beginResetModel()
        self.rows, self.header = rows, header
        self._cells = lru_cache(_CACHED_ROWS)(rows.cells)
        self.endResetModel()

    def add(self, block: Block) -> None:
        """May add columns, too."""
        columns, rows = self.rows.columns, self.rowCount()
        wider = min(max(columns, block.columns), COLUMNS_MAX)
        if wider > columns:
            self.beginInsertColumns(NO_INDEX, columns, wider - 1)
            self.rows.columns = wider
            self._cells.cache_clear()  # The last column may have contained the rest of longer rows.
            self.endInsertColumns()
        self.beginInsertRows(NO_INDEX, rows, rows + len(block.starts) - 2)
        self.rows.add(block)
        self.endInsertRows()

    def set_header(self, header: bool) -> None:
        """Use the first row as column names, or as an ordinary row."""
        self.beginResetModel()
        self.header = header
        self.endResetModel()

    def value(self, row: int, column: int) -> str:
        """The full text of a cell; empty if the row is shorter."""
        found = self._cells(row + self.header)
        return found[column] if column < len(found) else ""

    def name(self, column: int) -> str:
        """The name of a column; empty without a header."""
        names = self._cells(0) if self.header and len(self.rows) else []
        return names[column] if column < len(names) else ""

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        """The number of rows without the header."""
        return 0 if parent.isValid() else max(0, len(self.rows) - self.header)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        """The number of columns of the longest row."""
        return 0 if parent.isValid() or not len(self.rows) else self.rows.columns

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped for display; beyond the end of a short row there is no cell, not an empty one."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            found = self._cells(index.row() + self.header)
            return escape_beginning(found[index.column()], CELL_MAX) if index.column() < len(found) else None
        if role == Qt.ItemDataRole.BackgroundRole:
            missing = index.column() >= len(self._cells(index.row() + self.header))
            return QColor(self._theme.tokens.bg) if missing else None
        if role == Qt.ItemDataRole.ToolTipRole:
            text = self.value(index.row(), index.column()).strip()
            return plain_tooltip(time_words(text, self.name(index.column()), quoted=True)) or None
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Column names, or numbers without a header; rows are numbered."""
        if role == Qt.ItemDataRole.DisplayRole:
            if orientation == Qt.Orientation.Vertical:
                return f"{section + 1:,}"
            return escape_beginning(self.name(section), CELL_MAX) or str(section + 1)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if orientation == Qt.Orientation.Vertical else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


class CsvView(QTableView):
    """`refused` carries why something cannot be done."""

    refused = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, wordWrap=False, showGrid=True, cornerButtonEnabled=False)
        self.rows = CsvModel(theme, self)
        self.setModel(self.rows)
        self.cells = CellDelegate(theme, self)
        self.setItemDelegate(self.cells)
        self.setFont(mono_font(SMALL))
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setProperty("frameless", True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setAccessibleName("Body as a table")
        self.setProperty("part", "cells")
        numbers, names = self.verticalHeader(), self.horizontalHeader()
        numbers.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        numbers.setDefaultSectionSize(metrics.ROW_DENSE)
        numbers.setHighlightSections(False)
        names.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        names.setHighlightSections(False)
        names.setMinimumSectionSize(32)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.values = CellValues(self, self._current)
        add_view_action(self, "Copy", self.copy_cells, QKeySequence.StandardKey.Copy)
        add_view_action(self, "Copy rows", self.copy_rows)
        self.header_action = add_view_action(self, "First row is a header", self._switch_header)
        self.header_action.setCheckable(True)
        self.doubleClicked.connect(self.values.show)

    def start(self, rows: Rows, *, header: bool) -> None:
        """Show these rows from the first on."""
        self.rows.start(rows, header=header)
        self.header_action.setChecked(header)
        self._fit_columns()
        self.setCurrentIndex(self.rows.index(0, 0))
        self.clearSelection()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter shows the cell in full."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.values.show()
            event.accept()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A value shown below must not hide its row."""
        with current_in_view(self, event):
            super().resizeEvent(event)

    @Slot()
    def copy_cells(self) -> None:
        """Copy the selected cells as spreadsheets expect them: tabs between cells, a line for each row."""
        ranges = self._ranges()
        if sum(part.width() * part.height() for part in ranges) > COPY_MAX:
            self.refused.emit(f"More than {COPY_MAX:,} cells cannot be copied at once. Save the body instead.")
            return
        selected: dict[int, set[int]] = {}
        for part in ranges:
            for row in range(part.top(), part.bottom() + 1):
                selected.setdefault(row, set()).update(range(part.left(), part.right() + 1))
        if not selected and self.currentIndex().isValid():
            selected = {self.currentIndex().row(): {self.currentIndex().column()}}
        single = len(selected) == 1 and all(len(columns) == 1 for columns in selected.values())
        lines = [
            "\t".join(self._clipboard_text(row, at, single) for at in sorted(columns))
            for row, columns in sorted(selected.items())
        ]
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    @Slot()
    def copy_rows(self) -> None:
        """Copy the rows of the selected cells as they were sent."""
        ranges = self._ranges()
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})
        if not rows and self.currentIndex().isValid():
            rows = [self.currentIndex().row()]
        if len(rows) > COPY_MAX:
            self.refused.emit(f"More than {COPY_MAX:,} rows cannot be copied at once. Save the body instead.")
        elif rows:
            QGuiApplication.clipboard().setText(
                "\n".join(self.rows.rows.row_text(row + self.rows.header) for row in rows)
            )

    def _ranges(self) -> list[QItemSelectionRange]:
        selected = self.selectionModel().selection()
        return [selected.at(number) for number in range(selected.count())]

    def _clipboard_text(self, row: int, column: int, single: bool) -> str:
        text = self.rows.value(row, column)
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if _UNSAFE.search(text) and not single else text

    def _current(self) -> Value | None:
        index = self.currentIndex()
        if not index.isValid():
            return None
        name = self.rows.name(index.column()) or f"Column {index.column() + 1}"
        return Value(self.rows.value(index.row(), index.column()), name, True)

    @Slot(bool)
    def _switch_header(self, header: bool) -> None:
        """The same cell stays current; it is one row further up or down."""
        current = self.currentIndex()
        row, column = current.row() + (-1 if header else 1), max(0, current.column())
        self.rows.set_header(header)
        self.setCurrentIndex(self.rows.index(max(0, row), column))
        self.clearSelection()

    def _fit_columns(self) -> None:
        """Fits names and the first rows, within bounds."""
        fm, names = QFontMetrics(self.font()), QFontMetrics(self.horizontalHeader().font())
        rows = range(min(_FITTED_ROWS, self.rows.rowCount()))
        for column in range(self.rows.columnCount()):
            texts = [str(self.rows.index(row, column).data() or "")[:60] for row in rows]
            title = str(self.rows.headerData(column, Qt.Orientation.Horizontal))[:60]
            widest = max((fm.horizontalAdvance(text) for text in texts), default=0)
            width = max(widest, names.horizontalAdvance(title)) + 2 * metrics.SPACE_3
            self.setColumnWidth(column, min(max(NARROWEST, width), WIDEST))


class CsvTable(SourceView):
    """Ctrl+C copies cells, Enter shows one in full, Ctrl+E what it decodes to."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("table", tasks, parent)
        self.view = CsvView(theme, self)
        self.cells = self.view.cells
        self.summary = ElidedLabel("", "small", self)
        self.setFocusProxy(self.view)
        vbox((self.view, 1), view_footer(self.summary, self), inside=self, spacing=0, margins=0)
        self._state = ""
        self.view.rows.modelReset.connect(self._show_summary)
        self.view.refused.connect(Toast(theme, self).say)

    def show_nothing(self) -> None:
        self._state = ""
        self.view.rows.start(Rows(","), header=False)

    async def load(self, source: BodySource) -> None:
        reader, unpacker = CsvReader(source.content_type), for_headers(source.headers)
        self._state = "loading"
        self.view.rows.start(Rows(","), header=False)  # Rows may be there of a read that failed.
        last = b""  # how a row is read depends on whether more follows
        async with aclosing(plain_pieces(source, unpacker)) as pieces:
            async for piece, _ in pieces:
                self._add(await in_thread(reader.feed, last, False), reader, source.content_type)
                last = piece
                if self.view.rows.rows.characters > CHARACTERS_MAX:
                    self._finish("too large to show completely: save the body to see the rest")
                    return
        self._add(await in_thread(reader.feed, last, True), reader, source.content_type)
        self._finish(unpacker.finish() or "")

    def _finish(self, state: str) -> None:
        self._state = state
        self._show_summary()

    def _add(self, block: Block | None, reader: CsvReader, content_type: str) -> None:
        model = self.view.rows
        if block is None:
            return
        if len(model.rows):
            model.add(block)
            self._show_summary()
            return
        rows = Rows(reader.delimiter)
        rows.add(block)
        self.view.start(rows, header=has_header(rows, content_type))

    @Slot()
    def _show_summary(self) -> None:
        model = self.view.rows
        if not len(model.rows):
            self.summary.setText(LOADING if self._state == "loading" else self._state)
            return
        parts = [
            count_of(model.rowCount(), "row"),
            count_of(model.columnCount(), "column"),
            f"separated by {DELIMITERS[model.rows.delimiter]}",
            *(["loading…"] if self._state == "loading" else [self._state] if self._state else []),
        ]
        self.summary.setText(" · ".join(parts))
