"""The tray icon: Hookline's mark with the number of unread requests, and two bars while paused."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap

from app.core.resources import resource
from app.ui.desktop import badge_digits
from app.ui.theme.tokens import LIGHT

DIGITS: dict[int, tuple[badge_digits.Glyphs, int]] = {
    16: (badge_digits.SMALL, 1),
    20: (badge_digits.SMALL, 1),
    22: (badge_digits.LARGE, 1),
    24: (badge_digits.LARGE, 1),
    32: (badge_digits.SMALL, 2),
    40: (badge_digits.SMALL, 2),
    44: (badge_digits.LARGE, 2),
    48: (badge_digits.LARGE, 2),
    64: (badge_digits.SMALL, 4),
}
"""Each size in pixels that trays ask for, on screens of scale 1 and 2: its digits and their magnification."""
MOST = 99
_RING = 1
"""Transparent pixels around badge and bars, which separate them from the mark on any tray."""
_PAUSED_OPACITY = 0.55


def count_text(unread: int) -> str:
    """`12`, `99+`; empty for none."""
    return "" if unread <= 0 else str(unread) if unread <= MOST else f"{MOST}+"


def tray_icon(unread: int, *, paused: bool, mask: bool = False) -> QIcon:
    """The icon in all sizes. As a `mask` only its shape counts, and the system colours it, as on macOS."""
    icon = QIcon()
    for size in DIGITS:
        icon.addPixmap(picture(size, count_text(unread), paused=paused, mask=mask))
    icon.setIsMask(mask)
    return icon


def picture(size: int, text: str, *, paused: bool, mask: bool = False) -> QPixmap:
    """The icon in one size, on a transparent background."""
    result = QPixmap(size, size)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    painter.setOpacity(_PAUSED_OPACITY if paused else 1.0)
    painter.drawImage(0, 0, _mark(size, mask))
    painter.setOpacity(1.0)
    if paused:
        _bars(painter, size, mask)
    if text:
        _badge(painter, size, text, mask)
    painter.end()
    return result


@cache
def _mark(size: int, mask: bool) -> QImage:
    """Cached: parsing the SVG takes longer than all other steps together."""
    name = "symbolic" if mask else "small"
    return QIcon(str(resource(f"icons/hookline-{name}.svg"))).pixmap(QSize(size, size), 1.0).toImage()


def _badge(painter: QPainter, size: int, text: str, mask: bool) -> None:
    glyphs, scale = DIGITS[size]
    wide, high = badge_digits.width(text, glyphs) * scale, badge_digits.height(glyphs) * scale
    box_high = high + 2 * scale
    box_wide = min(size, max(wide + 4 * scale, box_high))
    box = QRect(size - box_wide, size - box_high, box_wide, box_high)
    _box(painter, box, 3 * scale, QColor("black" if mask else LIGHT.danger_fill))
    place = QPoint(box.left() + (box_wide - wide) // 2, box.top() + scale)
    if mask:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    badge_digits.draw(painter, place, text, glyphs=glyphs, scale=scale, colour=QColor("white"))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)


def _bars(painter: QPainter, size: int, mask: bool) -> None:
    unit = max(1, size // 16)
    _box(painter, QRect(0, 0, 7 * unit, 8 * unit), 2 * unit, QColor("black" if mask else LIGHT.accent))
    if mask:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    for left in (1, 4):
        painter.fillRect(left * unit, 2 * unit, 2 * unit, 4 * unit, QColor("white"))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)


def _box(painter: QPainter, box: QRect, radius: int, colour: QColor) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    painter.drawRoundedRect(QRectF(box).adjusted(-_RING, -_RING, _RING, _RING), radius + _RING, radius + _RING)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
    painter.drawRoundedRect(QRectF(box), radius, radius)
    painter.restore()
