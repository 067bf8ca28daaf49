"""A small bar chart of activity, oldest on the left."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from app.ui.theme.tokens import Tokens


def paint_sparkline(painter: QPainter, rect: QRectF, values: Sequence[float], tokens: Tokens) -> None:
    """Paint `values` as bars filling `rect`, the highest at full height; without any, a faint baseline."""
    if not values or rect.width() < len(values):
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    top = max(values)
    step = rect.width() / len(values)
    for i, value in enumerate(values):
        height = max(3.0, rect.height() * value / top) if value else 2.0
        painter.setBrush(QColor(tokens.accent if value else tokens.border_strong))
        bar = QRectF(rect.left() + i * step, rect.bottom() - height, max(1.0, step - 2), height)
        painter.drawRoundedRect(bar, 1, 1)
    painter.restore()
