"""Paints a cell of a table or tree in the style, with the words of a filter highlighted."""

from __future__ import annotations

import re

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.ui.requests.filter.marks import elide_around, paint_marks
from app.ui.theme.theme import Theme


class CellDelegate(QStyledItemDelegate):
    """`pattern` is what is marked; None marks nothing."""

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view
        self.pattern: re.Pattern[str] | None = None

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """The highlights are painted over the cell, which the style paints completely."""
        pattern = self.pattern
        text = str(index.data() or "")
        if pattern is None or pattern.search(text) is None:
            super().paint(painter, option, index)
            return
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        style = self._view.style() or QApplication.style()
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, shown, self._view)
        room = room.adjusted(3, 0, -3, 0)  # The margin that Qt leaves beside the text.
        shown.text = elide_around(text, pattern, shown.fontMetrics, room.width())
        shown.textElideMode = Qt.TextElideMode.ElideRight
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, self._view)
        painter.save()
        painter.setFont(shown.font)
        painter.setClipRect(room)
        paint_marks(painter, room, shown.text, pattern, self._theme.tokens)
        painter.restore()
