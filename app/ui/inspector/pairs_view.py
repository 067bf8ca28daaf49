"""Names and values as a table: in their order, with their case and duplicates; long values wrap.

A very long value is cut, with a link that shows all of it in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from PySide6.QtCore import QMimeData, QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QResizeEvent,
    QShowEvent,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import (
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextEdit,
    QWidget,
)

from app.core.bodies.escape import escape, escape_beginning
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.text_style import ReadOnlyText
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.layout import vbox
from app.ui.widgets.marked_text import match_ground, paint_wrapped, utf16
from app.ui.widgets.rows import Column, Index, Rows, RowsView

PADDING = 6
LINK_HEIGHT = 24
LEAST_WIDTH = 96
"""Pixels of the first and the last column."""
CELL_PADDING = 8
"""The padding in pixels that the style sheet leaves on both sides of a widget in a cell."""
MARKS_MAX = 200


class ValueField(QWidget):
    """Shows `text` escaped. `closed` carries the row to shorten again."""

    closed = Signal(int)

    def __init__(self, row: int, text: str, font: QFont, theme: Theme, parent: QWidget, *, first: bool) -> None:
        super().__init__(parent)
        self._row = row
        self.text = _FullText(text, self)
        self.text.setFont(font)
        self.text.setAccessibleName("Whole value")
        self.setFocusProxy(self.text)
        self.less = Button("Show less", theme, self, kind="link", run=self._close)
        self.less.setStyleSheet("QPushButton, QPushButton:focus { padding: 0; border-width: 1px 0; font-size: 12px; }")
        left = metrics.SPACE_3 - CELL_PADDING + (metrics.SPACE_1 if first else 0)
        less = (self.less, 0, Qt.AlignmentFlag.AlignLeft)
        vbox((self.text, 1), less, inside=self, spacing=0, margins=(left, PADDING, 0, 1))
        self._theme = theme

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern."""
        text = self.text.toPlainText()
        ground = match_ground(self._theme.tokens)
        selections = []
        for match in islice(pattern.finditer(text), MARKS_MAX) if pattern is not None else ():
            selection = QTextEdit.ExtraSelection()
            selection.cursor = QTextCursor(self.text.document())
            selection.cursor.setPosition(utf16(text[: match.start()]))
            selection.cursor.setPosition(utf16(text[: match.end()]), QTextCursor.MoveMode.KeepAnchor)
            selection.format.setBackground(ground)
            selections.append(selection)
        self.text.setExtraSelections(selections)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc returns to the table."""
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _close(self) -> None:
        self.closed.emit(self._row)


class _FullText(ReadOnlyText):
    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._sent = text
        self.setStyleSheet(
            "QPlainTextEdit, QPlainTextEdit:focus { border: none; padding: 0; background: transparent; }"
        )
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.setPlainText(escape(text))

    def createMimeDataFromSelection(self) -> QMimeData:
        """The text as sent, not its escapes."""
        cursor = self.textCursor()
        data = QMimeData()
        data.setText(sent_part(self._sent, cursor.selectionStart(), cursor.selectionEnd()))
        return data


def sent_part(text: str, start: int, end: int) -> str:
    """The characters of `text` between `start` and `end` of `escape(text)`, counted as Qt does."""
    part: list[str] = []
    at = 0
    for char in text:
        width = utf16(escape(char))
        if start < at + width and at < end:
            part.append(char)
        at += width
    return "".join(part)


FULL_LINES_MAX = 18
"""Maximum lines of a value shown in full; longer ones scroll."""
LINES_MAX = 8
"""Lines shown of a value that has more than one line more."""
MANY_ROWS = 500
"""In tables with more rows one line of a long value is shown."""
SHOW_ALL = "Show all of the value"
COPY_HEADER = "Copy as header line"
"""What copying a row of headers is called."""
TEXT_MAX = 4_000
"""Maximum characters of the text of a cell, mostly for screen readers."""
RAW = Qt.ItemDataRole.UserRole
"""The role of the unescaped text."""
Row = tuple[str, ...]


class PairsModel(Rows[Row]):
    """Rows with a text for each column; escaped for display, copied as they are."""

    def __init__(self, titles: Sequence[str], parent: QObject) -> None:
        super().__init__([Column(title, partial(_shown, at)) for at, title in enumerate(titles)], parent)
        self.cut: dict[int, frozenset[int]] = {}
        """The columns that are cut, by row; set by the view."""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Escaped, except for `RAW`. Without tooltips: all of a value can be shown."""
        text = self.record(index.row())[index.column()]
        if role == Qt.ItemDataRole.AccessibleDescriptionRole and index.column() in self.cut.get(index.row(), ()):
            return f"{len(text):,} characters. Press Enter to show all."
        if role == RAW:
            return text
        return super().data(index, role) if role != Qt.ItemDataRole.ToolTipRole else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Editable, because part of a text is selected in a read-only editor."""
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable

    def text(self, row: int) -> str:
        """A row as `name: value`."""
        return ": ".join(self.record(row)[:2])

    def value(self, row: int) -> str:
        """A row's second text."""
        return self.record(row)[1]


def _shown(column: int, row: Row) -> str:
    return escape_beginning(row[column], TEXT_MAX)


class PairsDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: PairsView) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view
        self._link_font = ui_font(SMALL, QFont.Weight.Medium)
        self.marked: re.Pattern[str] | None = None
        self.name_font, self._font = mono_font(SMALL, QFont.Weight.Medium), mono_font(SMALL)
        self._name_metrics, self._metrics = QFontMetrics(self.name_font), QFontMetrics(self._font)

    def font_of(self, column: int) -> QFont:
        return self._font if column else self.name_font

    def heights(self) -> Iterator[int]:
        """The height of each row. Also records in the model's `cut` which values show only some of their lines."""
        view, pairs = self._view, self._view.pairs
        widths = (max(40, view.columnWidth(at) - 2 * metrics.SPACE_3) for at in range(pairs.columnCount()))
        columns = [(self._metrics_of(at), width) for at, width in enumerate(widths)]
        one_line = max(metrics.ROW_DENSE, *(fm.lineSpacing() + 2 * PADDING for fm, _ in columns))
        # Measuring a text is slow, and a table may have thousands of short ones.
        short = [width // (2 * fm.averageCharWidth()) for fm, width in columns]
        for row in range(pairs.rowCount()):
            texts = pairs.record(row)
            fitting = [
                text.isascii() and text.isprintable() and len(text) <= most
                for text, most in zip(texts, short, strict=True)
            ]
            yield one_line if all(fitting) else self._height(row, columns)

    def _metrics_of(self, column: int) -> QFontMetrics:
        return self._metrics if column else self._name_metrics

    def _height(self, row: int, columns: Sequence[tuple[QFontMetrics, int]]) -> int:
        view, pairs = self._view, self._view.pairs
        tallest, cut, lines_max = metrics.ROW_DENSE, set(), view.lines_shown()
        for column, (fm, width) in enumerate(columns):
            text = pairs.record(row)[column]
            lines, link = self._lines(text, fm, width, lines_max), 0
            if lines > lines_max + 1:
                cut.add(column)
                link = LINK_HEIGHT
                # An estimate is enough: if it is too low, the value scrolls.
                lines_in_full = len(escape(text)) * fm.averageCharWidth() // width + 1
                opened = view.is_open(pairs.index(row, column))
                lines = min(FULL_LINES_MAX, max(lines, lines_in_full)) if opened else lines_max
            tallest = max(tallest, lines * fm.lineSpacing() + link + 2 * PADDING)
        if cut:
            pairs.cut[row] = frozenset(cut)
        return tallest

    def _lines(self, text: str, fm: QFontMetrics, width: int, lines_max: int) -> int:
        """The lines of the wrapped text, as far as they can be shown."""
        part = text[: self._part(fm, width, lines_max)]
        wrap = int(Qt.TextFlag.TextWrapAnywhere)
        used = fm.boundingRect(QRect(0, 0, width, 1 << 20), wrap, escape(part) or " ").height()
        lines = max(1, round(used / fm.lineSpacing()))
        return lines if len(part) == len(text) else max(lines, lines_max + 2)

    def _part(self, fm: QFontMetrics, width: int, lines_max: int) -> int:
        """Characters that fill a few more lines than are shown."""
        return (width // max(1, fm.averageCharWidth()) + 1) * (lines_max + 3)

    def link_rect(self, cell: QRect, index: Index) -> QRect:
        """The rectangle of the link in a cell that is cut."""
        top = cell.top() + PADDING + self._view.lines_shown() * self._metrics.lineSpacing()
        width = QFontMetrics(self._link_font).horizontalAdvance(_link_text(str(index.data(RAW))))
        left = cell.left() + metrics.SPACE_3 + (metrics.SPACE_1 if index.column() == 0 else 0)
        return QRect(left, top, min(width + 2, cell.right() - left), LINK_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, rect, view = self._theme.tokens, option.rect, self._view
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.fillRect(rect, QColor(tokens.selection if selected else tokens.surface))
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if view.is_open(index):
            painter.restore()
            return
        first = index.column() == 0
        inner = rect.adjusted(metrics.SPACE_3 + (metrics.SPACE_1 if first else 0), PADDING, -metrics.SPACE_3, -PADDING)
        text, fm = str(index.data(RAW)), self._metrics_of(index.column())
        if index.column() in view.pairs.cut.get(index.row(), ()):
            link = self.link_rect(rect, index)
            painter.setFont(self._link_font)
            painter.setPen(QColor(tokens.accent_text))
            painter.drawText(link, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), _link_text(text))
            inner.setBottom(link.top() - 1)
        painter.setClipRect(inner.adjusted(-metrics.SPACE_1, -2, metrics.SPACE_1, 0))
        painter.setFont(self.font_of(index.column()))
        painter.setPen(QColor(tokens.text_muted if first else tokens.text))
        part = text[: self._part(fm, inner.width(), view.lines_shown())]
        paint_wrapped(painter, inner, escape(part), self.marked, tokens)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = QLineEdit(parent)
        field.setReadOnly(True)
        field.setFont(self._font)
        field.setMaxLength(max(1, len(index.data(RAW))))  # Qt's own limit would cut it.
        field.setText(str(index.data(RAW)).replace("\n", " "))
        field.setCursorPosition(0)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """The editor was filled when it was created."""

    def setModelData(self, editor: QWidget, model: Any, index: Index) -> None:
        """The table is read-only."""


def _link_text(text: str) -> str:
    return f"Show all · {len(text):,} characters"


class PairsView(RowsView):
    """A table of pairs. Double-click selects within a value; Ctrl+C copies rows; Enter shows all of a long value."""

    fitted = Signal()
    """The heights of the rows changed."""

    def __init__(
        self, name: str, columns: Sequence[str], theme: Theme, parent: QWidget, copy_text: str = "Copy name and value"
    ) -> None:
        super().__init__(name, parent, "pairs")
        self._theme = theme
        self._open: dict[int, list[ValueField]] = {}
        self._fitting_columns = False
        self._fitted_width = 0
        """Pixels of the viewport that the columns were last fitted to; 0 for new rows."""
        self.pairs = PairsModel(columns, self)
        self.show_rows(self.pairs, metrics.ROW_DENSE)
        self._delegate = PairsDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalHeader().setMinimumSectionSize(20)
        header = self.horizontalHeader()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionsClickable(False)
        header.sectionResized.connect(self._column_resized)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._show_all = add_view_action(self, SHOW_ALL, self._toggle_current)
        self._show_all.setVisible(False)
        self.viewport().setMouseTracking(True)
        add_view_action(self, "Copy value", self.copy_values)
        add_view_action(self, copy_text, self.copy_rows, QKeySequence.StandardKey.Copy)
        add_view_action(self, "Copy all", self.copy_all)
        self.selectionModel().selectionChanged.connect(self._name_action)

    def set_rows(self, rows: Sequence[Row]) -> None:
        self._open.clear()  # Their fields are deleted with the rows.
        self.pairs.set_records(rows)
        self._fitted_width = 0
        self._fit_columns()
        self.scrollToTop()

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern, in these rows and all later ones; None marks nothing."""
        self._delegate.marked = pattern
        for fields in self._open.values():
            for field in fields:
                field.mark(pattern)
        self.viewport().update()

    @property
    def marked(self) -> re.Pattern[str] | None:
        """The pattern that is marked."""
        return self._delegate.marked

    def showEvent(self, event: QShowEvent) -> None:
        """Wrap lines: a hidden table has no width of its own yet."""
        super().showEvent(event)
        self._fit_columns()

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
        self._copy([self.pairs.text(row) for row in self.selected_rows()])

    @Slot()
    def copy_values(self) -> None:
        """The selected rows' values, one to a line."""
        self._copy([self.pairs.value(row) for row in self.selected_rows()])

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
        field = ValueField(row, self.pairs.record(row)[column], font, self._theme, self.viewport(), first=column == 0)
        field.mark(self.marked)
        field.closed.connect(self.toggle)
        self.setIndexWidget(index, field)
        return field

    def _link_at(self, event: QMouseEvent) -> int | None:
        index = self.indexAt(event.position().toPoint())
        if not index.isValid() or index.column() not in self.pairs.cut.get(index.row(), ()) or self.is_open(index):
            return None
        link = self._delegate.link_rect(self.visualRect(index), index)
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

    def _fit_columns(self) -> None:
        """The name column is as wide as its names, within bounds; the values take the rest."""
        fm, width = QFontMetrics(self._delegate.name_font), self.viewport().width()
        if not self.isVisible() or width == self._fitted_width:
            return
        self._fitted_width = width
        names = (self.pairs.record(row)[0] for row in range(min(200, self.pairs.rowCount())))
        widest = max((fm.horizontalAdvance(escape(name[:60])) for name in names), default=0)
        first = min(max(LEAST_WIDTH, widest + 2 * metrics.SPACE_3 + metrics.SPACE_3), int(width * 0.42))
        others = self.pairs.columnCount() - 1
        self._fitting_columns = True
        self.setColumnWidth(0, first)
        for column in range(1, others):
            self.setColumnWidth(column, (width - first) // others)
        self._fitting_columns = False
        self._column_resized()

    @Slot()
    def _column_resized(self) -> None:
        """The last column takes what the others leave; Qt would stretch it later, or not at all."""
        if self._fitting_columns:
            return
        self._fitting_columns = True
        last = self.pairs.columnCount() - 1
        others = sum(map(self.columnWidth, range(last)))
        self.setColumnWidth(last, max(LEAST_WIDTH, self.viewport().width() - others))
        self._fitting_columns = False
        self._fit_rows()

    @Slot()
    def _fit_rows(self) -> None:
        """Row heights by the wrapped texts, within bounds."""
        self.pairs.cut.clear()
        for row, height in enumerate(self._delegate.heights()):
            if self.rowHeight(row) != height:
                self.setRowHeight(row, height)
        self._name_action()
        self.fitted.emit()
