"""The background of a row in a short list: selected, under the pointer, with the focus."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.ui.theme import metrics
from app.ui.theme.tokens import Tokens


def paint_row_background(painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> QRect:
    """Paint it; returns the row's place."""
    place, state = QRect(option.rect).adjusted(0, 1, 0, -1), option.state
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.selection if selected else tokens.hover))
        painter.drawRoundedRect(place, metrics.RADIUS, metrics.RADIUS)
    if selected and state & QStyle.StateFlag.State_HasFocus:
        painter.setPen(QColor(tokens.accent))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(place.adjusted(0, 0, -1, -1), metrics.RADIUS, metrics.RADIUS)
    return place
