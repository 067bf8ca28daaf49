"""The duration of an attempt as a bar of its parts, and their legend."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAccessible, QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.delivery import Attempt
from app.core.text import ms_text
from app.ui.deliveries.words import timing_parts
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

BAR, LEGEND_ROW, SQUARE = 8, 18, 8
GAP, APART = 6, 16
LEAST_PART = 2.0
"""Pixels of a part however short it was."""


def paint_bar(painter: QPainter, rect: QRectF, attempt: Attempt, longest_ms: float, tokens: Tokens) -> None:
    """Paint the parts of an attempt into `rect`, of which an attempt of `longest_ms` takes the whole width."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    track = QPainterPath()
    track.addRoundedRect(rect, rect.height() / 2, rect.height() / 2)
    painter.setClipPath(track)
    painter.fillRect(rect, QColor(tokens.pressed))
    scale = rect.width() / longest_ms if longest_ms > 0 else 0.0
    left = rect.left()
    for _, token, ms in timing_parts(attempt):
        width = max(LEAST_PART, ms * scale) if ms > 0 else 0.0
        painter.fillRect(QRectF(left, rect.top(), width, rect.height()), QColor(getattr(tokens, token)))
        left += width
    painter.restore()


def legend_text(attempt: Attempt) -> str:
    """`Lookup 1.2 ms, Connect 0.4 ms, Waiting for first byte 12 ms`."""
    return ", ".join(f"{name} {ms_text(ms)}" for name, _, ms in timing_parts(attempt))


class TimingBar(QWidget):
    """The bar of one attempt over the whole width, with the name and duration of each part below it."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._attempt: Attempt | None = None
        self._font = ui_font(SMALL)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._repaint)

    def show_attempt(self, attempt: Attempt) -> None:
        self._attempt = attempt
        text = f"{legend_text(attempt)}, {ms_text(attempt.ms)} in all"
        self.setAccessibleName(text)
        self.setToolTip(text)
        self._fit()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, BAR + GAP + LEGEND_ROW * self._rows(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._attempt is None:
            return
        painter, tokens = QPainter(self), self._theme.tokens
        paint_bar(painter, QRectF(0, 0, self.width(), BAR), self._attempt, self._attempt.ms, tokens)
        painter.setFont(self._font)
        for name, value, token, left, row in self._places(self.width()):
            top = BAR + GAP + row * LEGEND_ROW
            square = QRectF(left, top + (LEGEND_ROW - SQUARE) / 2, SQUARE, SQUARE)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(tokens, token)))
            painter.drawRoundedRect(square, 2, 2)
            fm = QFontMetrics(self._font)
            text_left = left + SQUARE + GAP
            painter.setPen(QColor(tokens.text_muted))
            flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
            name_width = fm.horizontalAdvance(f"{name} ")
            painter.drawText(QRectF(text_left, top, name_width + 2, LEGEND_ROW), flags, name)
            painter.setPen(QColor(tokens.text))
            painter.drawText(
                QRectF(text_left + name_width, top, fm.horizontalAdvance(value) + 2, LEGEND_ROW), flags, value
            )

    def _places(self, width: int) -> list[tuple[str, str, str, int, int]]:
        """Name, duration and token of each part, with its left edge and its row."""
        if self._attempt is None:
            return []
        fm, left, row = QFontMetrics(self._font), 0, 0
        places = []
        for name, token, ms in timing_parts(self._attempt):
            value = ms_text(ms)
            need = SQUARE + GAP + fm.horizontalAdvance(f"{name} {value}")
            if left and left + need > width:
                left, row = 0, row + 1
            places.append((name, value, token, left, row))
            left += need + APART
        return places

    def _rows(self, width: int) -> int:
        places = self._places(width)
        return places[-1][-1] + 1 if places else 1

    def _fit(self) -> None:
        height = self.sizeHint().height()
        if self.height() != height or self.minimumHeight() != height:
            self.setFixedHeight(height)

    @Slot()
    def _repaint(self) -> None:
        self.update()
