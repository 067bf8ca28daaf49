"""Names and values as a table: in their order, with their case and duplicates; long values wrap.

A very long value is cut, with a link that shows all of it in place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QWidget,
)

from app.core.bodies.escape import escape
from app.ui.request.tables.pairs_delegate import PairsDelegate
from app.ui.request.tables.pairs_model import Index, PairsModel, Row
from app.ui.request.tables.value_field import ValueField
from app.ui.theme import metrics
from app.ui.theme.theme import Theme

LINES_MAX = 8
"""Lines shown of a value that has more than one line more."""
MANY_ROWS = 500
"""In tables with more rows one line of a long value is shown."""
SHOW_ALL = "Show all of the value"


class PairsView(QTableView):
    """A table of pairs. Double-click selects within a value; Ctrl+C copies rows; Enter shows all of a long value."""

    fitted = Signal()
    """The heights of the rows changed."""

    def __init__(
        self, columns: Sequence[str], theme: Theme, parent: QWidget, copy_text: str = "Copy name and value"
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._open: dict[int, list[ValueField]] = {}
        self.pairs = PairsModel(columns, self)
        self.setModel(self.pairs)
        self._delegate = PairsDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setProperty("part", "pairs")
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(20)
        self.verticalHeader().setDefaultSectionSize(metrics.ROW_DENSE)
        header = self.horizontalHeader()
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionsClickable(False)
        header.sectionResized.connect(self._fit_rows)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._show_all = self._add_action(SHOW_ALL, self._toggle_current)
        self._show_all.setVisible(False)
        self.viewport().setMouseTracking(True)
        self._add_action("Copy value", self.copy_values)
        copy = self._add_action(copy_text, self.copy_rows)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._add_action("Copy all", self.copy_all)
        self.selectionModel().selectionChanged.connect(self._name_action)

    def set_rows(self, rows: Sequence[Row]) -> None:
        self._open.clear()  # Their fields are deleted with the rows.
        self.pairs.set_rows(rows)
        self._fit_columns()
        self.scrollToTop()

    def mark(self, words: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern, in these rows and all later ones; None marks nothing."""
        self._delegate.marked = words
        for fields in self._open.values():
            for field in fields:
                field.mark(words)
        self.viewport().update()

    @property
    def marked(self) -> re.Pattern[str] | None:
        """The pattern that is marked."""
        return self._delegate.marked

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap lines again."""
        super().resizeEvent(event)
        self._fit_columns()

    @Slot(int)
    def toggle(self, row: int) -> None:
        """Show the long values of a row in full, with the focus in the first, or shorten them again."""
        fields = self._open.pop(row, [])
        if fields:
            inside = any(field.isAncestorOf(self.focusWidget()) for field in fields if self.focusWidget() is not None)
            for column in range(self.pairs.columnCount()):
                self.setIndexWidget(self.pairs.index(row, column), None)  # type: ignore[arg-type]  # Qt's way to remove
            self._fit_rows()
            if inside or not self.hasFocus():
                self.setFocus()
        else:
            self._open[row] = [self._make_field(row, column) for column in sorted(self.pairs.cut.get(row, ()))]
            self._fit_rows()
            if self._open[row]:
                self._open[row][-1].setFocus()
            else:
                del self._open[row]
        self.scrollTo(self.pairs.index(row, 0))
        self._name_action()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A long value is shown in full, so that all of it can be selected."""
        index = self.indexAt(event.position().toPoint())
        if index.column() in self.pairs.cut.get(index.row(), ()):
            self.toggle(index.row())
        else:
            super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter shows a long value in full, and shortens it again."""
        row = self.currentIndex().row()
        long = row in self.pairs.cut or row in self._open
        if long and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.toggle(row)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The line under a long value is a link."""
        row = self._link_at(event)
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            self.selectRow(row)
            self.toggle(row)
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand cursor over a link."""
        over = self._link_at(event) is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def is_open(self, index: Index) -> bool:
        """Whether this value is shown in full, in its own field."""
        return self.indexWidget(index) is not None

    @property
    def any_open(self) -> bool:
        """Whether any long value is shown in full."""
        return bool(self._open)

    def lines_shown(self) -> int:
        """The maximum number of lines shown of a long value."""
        return LINES_MAX if self.pairs.rowCount() <= MANY_ROWS else 1

    @Slot()
    def copy_rows(self) -> None:
        """The selected rows, one to a line."""
        self._copy([self.pairs.text(row) for row in self._chosen()])

    @Slot()
    def copy_values(self) -> None:
        """The selected rows' values, one to a line."""
        self._copy([self.pairs.value(row) for row in self._chosen()])

    @Slot()
    def copy_all(self) -> None:
        """All rows, one to a line."""
        self._copy([self.pairs.text(row) for row in range(self.pairs.rowCount())])

    def _copy(self, lines: list[str]) -> None:
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _make_field(self, row: int, column: int) -> ValueField:
        index = self.pairs.index(row, column)
        font = self._delegate.font_of(column)
        field = ValueField(row, self.pairs.cells(row)[column], font, self._theme, self.viewport(), first=column == 0)
        field.mark(self.marked)
        field.closed.connect(self.toggle)
        self.setIndexWidget(index, field)
        return field

    def _link_at(self, event: QMouseEvent) -> int | None:
        index = self.indexAt(event.position().toPoint())
        if not index.isValid() or index.column() not in self.pairs.cut.get(index.row(), ()) or self.is_open(index):
            return None
        link = self._delegate.link_rect(self, self.visualRect(index), index)
        return index.row() if link.contains(event.position().toPoint()) else None

    @Slot()
    def _toggle_current(self) -> None:
        self.toggle(self.currentIndex().row())

    @Slot()
    def _name_action(self) -> None:
        """The row's context menu."""
        row = self.currentIndex().row()
        self._show_all.setVisible(row in self.pairs.cut or row in self._open)
        self._show_all.setText("Show less" if row in self._open else SHOW_ALL)

    def _chosen(self) -> list[int]:
        return sorted(index.row() for index in self.selectionModel().selectedRows())

    def _add_action(self, text: str, slot: Any) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        self.addAction(action)
        return action

    def _fit_columns(self) -> None:
        """The name column is as wide as its names, within bounds; the values take the rest."""
        fm, width = QFontMetrics(self._delegate.name_font), self.viewport().width()
        names = (self.pairs.cells(row)[0] for row in range(min(200, self.pairs.rowCount())))
        widest = max((fm.horizontalAdvance(escape(name[:60])) for name in names), default=0)
        first = min(max(96, widest + 2 * metrics.SPACE_3 + metrics.SPACE_3), int(width * 0.42))
        others = self.pairs.columnCount() - 1
        self.setColumnWidth(0, first)
        for column in range(1, others):
            self.setColumnWidth(column, (width - first) // others)
        # The stretched last section is resized only later.
        self.horizontalHeader().resizeSection(others, width - first - (width - first) // others * (others - 1))
        self._fit_rows()

    @Slot()
    def _fit_rows(self) -> None:
        """Row heights by the wrapped texts, within bounds."""
        most = self.lines_shown()
        self.pairs.cut.clear()
        for row in range(self.pairs.rowCount()):
            height = self._delegate.height(self, row, most)
            if self.rowHeight(row) != height:
                self.setRowHeight(row, height)
        self.fitted.emit()
