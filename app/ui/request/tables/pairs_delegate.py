"""Paints the cells of a table of names and values: wrapped, and long ones cut with a link to show all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.core.bodies.escape import escape
from app.ui.request.tables.pairs_model import RAW, Index
from app.ui.request.tables.value_field import LINK_HEIGHT, PADDING
from app.ui.requests.filter.wrapped_marks import paint_wrapped
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme

if TYPE_CHECKING:
    from app.ui.request.tables.pairs_view import PairsView

WHOLE_LINES_MAX = 18
"""Maximum lines of a value shown in full; longer ones scroll."""


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

    def height(self, view: PairsView, row: int, most: int) -> int:
        """Also records in `view.pairs.cut` which values of the row show only `most` lines."""
        tallest, cut = metrics.ROW_DENSE, set()
        for column, text in enumerate(view.pairs.cells(row)):
            fm = self._metrics if column else self._name_metrics
            width = max(40, view.columnWidth(column) - 2 * metrics.SPACE_3)
            lines, link = self._lines(text, fm, width, most), 0
            if lines > most + 1:
                cut.add(column)
                link = LINK_HEIGHT
                # An estimate is enough: if it is too low, the value scrolls.
                whole = len(escape(text)) * fm.averageCharWidth() // width + 1
                opened = view.is_open(view.pairs.index(row, column))
                lines = min(WHOLE_LINES_MAX, max(lines, whole)) if opened else most
            tallest = max(tallest, lines * fm.lineSpacing() + link + 2 * PADDING)
        if cut:
            view.pairs.cut[row] = frozenset(cut)
        return tallest

    def _lines(self, text: str, fm: QFontMetrics, width: int, most: int) -> int:
        """The lines of the wrapped text, as far as they can be shown."""
        part = text[: self._part(fm, width, most)]
        if part.isascii() and len(part) * 2 * fm.averageCharWidth() <= width and len(part) == len(text):
            return 1
        wrap = int(Qt.TextFlag.TextWrapAnywhere)
        used = fm.boundingRect(QRect(0, 0, width, 1 << 20), wrap, escape(part) or " ").height()
        lines = max(1, round(used / fm.lineSpacing()))
        return lines if len(part) == len(text) else max(lines, most + 2)

    def _part(self, fm: QFontMetrics, width: int, most: int) -> int:
        """Characters that fill a few more lines than are shown."""
        return (width // max(1, fm.averageCharWidth()) + 1) * (most + 3)

    def link_rect(self, view: PairsView, cell: QRect, index: Index) -> QRect:
        """The rectangle of the link in a cell that is cut."""
        top = cell.top() + PADDING + view.lines_shown() * self._metrics.lineSpacing()
        words = QFontMetrics(self._link_font).horizontalAdvance(_link_text(str(index.data(RAW))))
        left = cell.left() + metrics.SPACE_3 + (metrics.SPACE_1 if index.column() == 0 else 0)
        return QRect(left, top, min(words + 2, cell.right() - left), LINK_HEIGHT)

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
        text, fm = str(index.data(RAW)), self._metrics if index.column() else self._name_metrics
        if index.column() in view.pairs.cut.get(index.row(), ()):
            link = self.link_rect(view, rect, index)
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
