"""Paints the activity chart: stacked bars, the selected time range, and time labels below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.core.activity import Axis, Bar, ticks
from app.ui.theme.fonts import ui_font
from app.ui.theme.tokens import Tokens

HEIGHT = 62
TOP, LABELS_HEIGHT = 6, 16
"""Pixels above the highest bar, and for the labels below."""
LABEL_PX = 10
TICK_ROOM = 74
"""Pixels that one label needs."""
FULL = 4
"""A single request has a quarter of the height: a full bar would suggest more."""
LEAST, LOW = 2.0, 3


@dataclass(frozen=True)
class ChartPicture:
    """The contents of the chart. `selected` and `marked` are ranges of bars, first and last; `hovered` is one."""

    axis: Axis
    bars: Sequence[Bar]
    selected: tuple[float, float] | None = None
    marked: tuple[int, int] | None = None
    hovered: int | None = None
    ringed: bool = False


def colours(tokens: Tokens) -> tuple[str, str, str, str]:
    """Of plain, delivered, failed requests, and those not sent or incomplete: blue, its strong form, red and amber,
    apart in lightness."""
    return tokens.chart_plain, tokens.chart_delivered, tokens.chart_failed, tokens.chart_incomplete


def paint_chart(painter: QPainter, room: QRectF, picture: ChartPicture, tokens: Tokens) -> None:
    """Paint the chart, filling `room`."""
    plot = QRectF(room.left(), room.top() + TOP, room.width(), room.height() - TOP - LABELS_HEIGHT)
    peak = max((bar.total for bar in picture.bars), default=0)
    _grounds(painter, plot, picture, tokens)
    _grid(painter, plot, tokens)
    for number, bar in enumerate(picture.bars):
        if bar.total:
            _bar(painter, _slot(painter, plot, number, picture.axis.bars), bar, max(peak, FULL), tokens)
    _times(painter, plot, picture.axis, tokens)
    if peak:
        _full(painter, plot, max(peak, FULL), tokens)
    if picture.ringed:
        painter.setPen(QPen(QColor(tokens.accent), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)


def _grounds(painter: QPainter, plot: QRectF, picture: ChartPicture, tokens: Tokens) -> None:
    slot = plot.width() / picture.axis.bars
    tall = plot.adjusted(0, -TOP + 1, 0, 0)
    if picture.hovered is not None:
        ground = QRectF(plot.left() + picture.hovered * slot, tall.top(), slot, tall.height())
        painter.fillRect(ground, QColor(tokens.pressed))
    for stretch in (picture.selected, _places(picture)):
        if stretch is not None and stretch[1] > stretch[0]:
            left, right = (plot.left() + place * plot.width() for place in stretch)
            painter.fillRect(QRectF(left, tall.top(), right - left, tall.height()), QColor(tokens.accent_soft))
            painter.setPen(QPen(QColor(tokens.accent), 1))
            for x in (left, right):
                inside = min(max(round(x) + 0.5, plot.left() + 0.5), plot.right() - 0.5)
                painter.drawLine(QPointF(inside, tall.top()), QPointF(inside, tall.bottom()))


def _places(picture: ChartPicture) -> tuple[float, float] | None:
    if picture.marked is None:
        return None
    return picture.marked[0] / picture.axis.bars, (picture.marked[1] + 1) / picture.axis.bars


def _grid(painter: QPainter, plot: QRectF, tokens: Tokens) -> None:
    painter.fillRect(QRectF(plot.left(), plot.top(), plot.width(), 1), QColor(tokens.border))
    painter.fillRect(QRectF(plot.left(), plot.center().y(), plot.width(), 1), QColor(tokens.border))
    painter.fillRect(QRectF(plot.left(), plot.bottom(), plot.width(), 1), QColor(tokens.border_strong))


def _slot(painter: QPainter, plot: QRectF, number: int, bars: int) -> QRectF:
    """The position of bar `number` in whole screen pixels, without its gap."""
    slot = plot.width() / bars
    gap = 2.0 if slot >= 8 else 1.0 if slot >= 3 else 0.0
    ratio = painter.deviceTransform().m11()
    left, right = (round((plot.left() + place * slot) * ratio) / ratio for place in (number, number + 1))
    return QRectF(left, plot.top(), max(1.0, right - left - gap), plot.height())


def _bar(painter: QPainter, slot: QRectF, bar: Bar, peak: int, tokens: Tokens) -> None:
    bottom = slot.bottom()
    for height, colour in zip(heights(bar, slot.height() / peak), colours(tokens), strict=True):
        painter.fillRect(QRectF(slot.left(), bottom - height, slot.width(), height), QColor(colour))
        bottom -= height


def heights(bar: Bar, scale: float) -> tuple[int, int, int, int]:
    """The heights of the stacked parts in whole pixels; `scale` is the height of one request.

    A single failure among thousands is still visible, but takes its pixels from the others: the bar does not get
    higher.
    """
    usual, full = bar.plain + bar.delivered, round(max(LEAST, bar.total * scale))
    lacking = bar.not_sent + bar.incomplete
    if usual and full <= LOW:
        full = LOW
        failed, incomplete = (1, 0) if bar.failed else (0, int(lacking > 0))
    else:
        odd = [max(LEAST, count * scale) if count else 0.0 for count in (bar.failed, lacking)]
        room = full - LEAST if usual else full
        shrink = min(1.0, room / sum(odd)) if any(odd) else 1.0
        failed, incomplete = (max(1, round(height * shrink)) if height else 0 for height in odd)
    rest = max(0, full - failed - incomplete) if usual else 0
    delivered = round(rest * bar.delivered / usual) if usual else 0
    return rest - delivered, delivered, failed, incomplete


def _times(painter: QPainter, plot: QRectF, axis: Axis, tokens: Tokens) -> None:
    painter.setFont(ui_font(LABEL_PX))
    metrics = painter.fontMetrics()
    for at, text in ticks(axis, max(2, int(plot.width() // TICK_ROOM))):
        x = plot.left() + axis.place(at) * plot.width()
        painter.fillRect(QRectF(x, plot.bottom(), 1, 3), QColor(tokens.border_strong))
        width = metrics.horizontalAdvance(text)
        left = x - width / 2
        if left >= plot.left() and left + width <= plot.right():
            painter.setPen(QColor(tokens.text_faint))
            painter.drawText(QRectF(left, plot.bottom() + 3, width + 1, LABELS_HEIGHT - 3), 0, text)


def _full(painter: QPainter, plot: QRectF, full: int, tokens: Tokens) -> None:
    """The number of requests that the upper line stands for."""
    painter.setFont(ui_font(LABEL_PX))
    text = f"{full:,}"
    width = painter.fontMetrics().horizontalAdvance(text)
    ground = QRectF(plot.left(), plot.top() - TOP, width + 6, 12)
    painter.fillRect(ground, QColor(tokens.surface))
    painter.setPen(QColor(tokens.text_faint))
    painter.drawText(ground, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
