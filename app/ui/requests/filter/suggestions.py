"""Completions in a list below the text field; the list is part of the window and never takes the focus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QHideEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.core.search.completion import Completion
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme

ROWS_VISIBLE = 9
WIDTH_MAX = 440
_COMPLETION = Qt.ItemDataRole.UserRole

Index = QModelIndex | QPersistentModelIndex


class Suggestions(QFrame):
    """Opens below `anchor`. `activated` carries the suggestion."""

    activated = Signal(object)
    closed = Signal()

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._anchor = anchor
        self.setProperty("part", "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.rows = QListWidget(self)
        self.rows.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.rows.setMouseTracking(True)
        self.rows.setUniformItemSizes(True)
        self.rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.setAccessibleName("Suggestions")
        self.rows.setItemDelegate(_Row(theme, self.rows))
        self.rows.itemClicked.connect(self._clicked)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.rows)
        self.hide()

    def offer(self, suggestions: Sequence[Completion]) -> None:
        """Show these suggestions with none selected; an empty list closes."""
        self.rows.clear()
        for suggestion in suggestions:
            item = QListWidgetItem(suggestion.insert)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{suggestion.insert} {suggestion.help}")
            item.setData(_COMPLETION, suggestion)
            self.rows.addItem(item)
        self.rows.setCurrentRow(-1)
        if not suggestions:
            self.hide()
            return
        window = self._anchor.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        place = self._anchor.mapTo(window, QPoint(0, self._anchor.height() + 2))
        height = min(len(suggestions), ROWS_VISIBLE) * metrics.ROW_DENSE + 10
        self.setGeometry(
            QRect(place, QSize(min(WIDTH_MAX, self._anchor.width()), min(height, window.height() - place.y())))
        )
        self.rows.scrollToTop()
        self.show()
        self.raise_()

    def move_by(self, step: int) -> None:
        """Select the next or previous suggestion, wrapping around."""
        count, row = self.rows.count(), self.rows.currentRow()
        self.rows.setCurrentRow((row + step) % count if row >= 0 else 0 if step > 0 else count - 1)

    def accept(self) -> bool:
        """Accept the selected suggestion, or the only one; returns whether there was one."""
        item = self.rows.currentItem()
        if item is None and self.rows.count() == 1:
            item = self.rows.item(0)
        if item is None:
            return False
        self._clicked(item)
        return True

    def accept_first(self) -> None:
        """Accept the selected suggestion, or the first."""
        if not self.accept() and self.rows.count():
            self._clicked(self.rows.item(0))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    @Slot(object)
    def _clicked(self, item: QListWidgetItem) -> None:
        suggestion = item.data(_COMPLETION)
        self.hide()
        self.activated.emit(suggestion)


class _Row(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mono, self._small = mono_font(SMALL), ui_font(SMALL)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The same height for all rows."""
        return QSize(100, metrics.ROW_DENSE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint the completion, then its explanation."""
        suggestion: Completion = index.data(_COMPLETION)
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        lit = option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
        if lit:
            selected = bool(option.state & QStyle.StateFlag.State_Selected)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.selection if selected else tokens.hover))
            painter.drawRoundedRect(rect, metrics.RADIUS_SMALL, metrics.RADIUS_SMALL)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        inner = rect.adjusted(metrics.SPACE_2, 0, -metrics.SPACE_2, 0)
        painter.setFont(self._mono)
        painter.setPen(QColor(tokens.text))
        mono = QFontMetrics(self._mono)
        typed = mono.elidedText(suggestion.insert, Qt.TextElideMode.ElideMiddle, inner.width())
        painter.drawText(inner, flags, typed)
        used = mono.horizontalAdvance(typed) + metrics.SPACE_4
        fm = QFontMetrics(self._small)
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        note = fm.elidedText(suggestion.help, Qt.TextElideMode.ElideRight, inner.width() - used)
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignRight, note)
        painter.restore()
