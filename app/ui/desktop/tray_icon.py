"""The tray icon: Hookline's mark with the number of unread requests, and two bars while paused.

The badge's digits are drawn pixel by pixel: no font is sharp at five or seven pixels.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap

from app.core.resources import resource
from app.ui.theme.tokens import LIGHT

Glyphs = dict[str, tuple[str, ...]]

SMALL_DIGITS: Glyphs = {
    "0": ("###", "#.#", "#.#", "#.#", "###"),
    "1": (".#", "##", ".#", ".#", ".#"),
    "2": ("###", "..#", "###", "#..", "###"),
    "3": ("###", "..#", ".##", "..#", "###"),
    "4": ("#.#", "#.#", "###", "..#", "..#"),
    "5": ("###", "#..", "###", "..#", "###"),
    "6": ("###", "#..", "###", "#.#", "###"),
    "7": ("###", "..#", "..#", ".#.", ".#."),
    "8": ("###", "#.#", "###", "#.#", "###"),
    "9": ("###", "#.#", "###", "..#", "###"),
    "+": ("...", ".#.", "###", ".#.", "..."),
}
LARGE_DIGITS: Glyphs = {
    "0": (".##.", "#..#", "#..#", "#..#", "#..#", "#..#", ".##."),
    "1": (".#", "##", ".#", ".#", ".#", ".#", ".#"),
    "2": (".##.", "#..#", "...#", "..#.", ".#..", "#...", "####"),
    "3": ("###.", "...#", "...#", ".##.", "...#", "...#", "###."),
    "4": ("#..#", "#..#", "#..#", "####", "...#", "...#", "...#"),
    "5": ("####", "#...", "###.", "...#", "...#", "#..#", ".##."),
    "6": (".##.", "#..#", "#...", "###.", "#..#", "#..#", ".##."),
    "7": ("####", "...#", "...#", "..#.", "..#.", ".#..", ".#.."),
    "8": (".##.", "#..#", "#..#", ".##.", "#..#", "#..#", ".##."),
    "9": (".##.", "#..#", "#..#", ".###", "...#", "#..#", ".##."),
    "+": ("...", "...", ".#.", "###", ".#.", "...", "..."),
}


def digits_width(text: str, glyphs: Glyphs) -> int:
    """The width of `text` in pixels, with one pixel between two digits."""
    return sum(len(glyphs[one][0]) for one in text) + len(text) - 1


def digits_height(glyphs: Glyphs) -> int:
    """The height of each digit in pixels."""
    return len(glyphs["0"])


def draw_digits(painter: QPainter, place: QPoint, text: str, *, glyphs: Glyphs, scale: int, colour: QColor) -> None:
    """Draw `text` with its top left corner at `place`; each pixel of a digit is `scale` pixels wide and high."""
    left = place.x()
    for one in text:
        for line, row in enumerate(glyphs[one]):
            for column, mark in enumerate(row):
                if mark == "#":
                    painter.fillRect(left + column * scale, place.y() + line * scale, scale, scale, colour)
        left += (len(glyphs[one][0]) + 1) * scale


DIGITS: dict[int, tuple[Glyphs, int]] = {
    16: (SMALL_DIGITS, 1),
    20: (SMALL_DIGITS, 1),
    22: (LARGE_DIGITS, 1),
    24: (LARGE_DIGITS, 1),
    32: (SMALL_DIGITS, 2),
    40: (SMALL_DIGITS, 2),
    44: (LARGE_DIGITS, 2),
    48: (LARGE_DIGITS, 2),
    64: (SMALL_DIGITS, 4),
}
"""Each size in pixels that trays ask for, on screens of scale 1 and 2: its digits and their magnification."""
COUNT_MAX = 99
_RING = 1
"""Transparent pixels around badge and bars, which separate them from the mark on any tray."""
_PAUSED_OPACITY = 0.55


def badge_text(unread: int) -> str:
    """`12`, `99+`; empty for none."""
    return "" if unread <= 0 else str(unread) if unread <= COUNT_MAX else f"{COUNT_MAX}+"


def tray_icon(unread: int, *, paused: bool, mask: bool = False) -> QIcon:
    """The icon in all sizes. As a `mask` only its shape counts, and the system colours it, as on macOS."""
    icon = QIcon()
    for size in DIGITS:
        icon.addPixmap(icon_pixmap(size, badge_text(unread), paused=paused, mask=mask))
    icon.setIsMask(mask)
    return icon


def icon_pixmap(size: int, text: str, *, paused: bool, mask: bool = False) -> QPixmap:
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
    wide, high = digits_width(text, glyphs) * scale, digits_height(glyphs) * scale
    box_high = high + 2 * scale
    box_wide = min(size, max(wide + 4 * scale, box_high))
    box = QRect(size - box_wide, size - box_high, box_wide, box_high)
    _box(painter, box, 3 * scale, QColor("black" if mask else LIGHT.danger_fill))
    place = QPoint(box.left() + (box_wide - wide) // 2, box.top() + scale)
    if mask:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    draw_digits(painter, place, text, glyphs=glyphs, scale=scale, colour=QColor("white"))
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
