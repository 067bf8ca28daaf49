"""Icons by their meaning, drawn from characters of the Phosphor font and coloured from the tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QIconEngine, QPainter, QPixmap, QPixmapCache

from app.core.files import resource
from app.ui.theme.tokens import Tokens

FONT, ICONS = "fonts/phosphor-1.3.0.ttf", "fonts/icons.json"
SCALE = 0.875 * 1.14
"""The size of the character relative to the icon's height: a glyph has some padding."""


@dataclass
class CurrentTokens:
    """The colours in use. Icons ask for them whenever they are painted, so that no icon is made anew for a theme."""

    tokens: Tokens


class GlyphEngine(QIconEngine):
    """One character, with the name of one colour for each state."""

    def __init__(self, glyph: str, current: CurrentTokens, plain: str, active: str) -> None:
        super().__init__()
        self._glyph, self._current, self._plain, self._active = glyph, current, plain, active

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Paint the glyph centred in `rect`."""
        _paint_glyph(painter, rect, self._glyph, self._colour(mode, state))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """The glyph on a transparent background; empty for a button that has no space for its icon during layout."""
        return _glyph_pixmap(size, self._glyph, self._colour(mode, state))

    def _colour(self, mode: QIcon.Mode, state: QIcon.State) -> QColor:
        if mode == QIcon.Mode.Disabled:
            name = "border_strong"
        else:
            name = self._plain if mode == QIcon.Mode.Normal and state == QIcon.State.Off else self._active
        return QColor(getattr(self._current.tokens, name))


def _paint_glyph(painter: QPainter, rect: QRect, glyph: str, colour: QColor) -> None:
    painter.save()
    font = QFont(family())
    font.setPixelSize(max(1, round(rect.height() * SCALE)))
    painter.setFont(font)
    painter.setPen(colour)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, glyph)
    painter.restore()


def _glyph_pixmap(size: QSize, glyph: str, colour: QColor) -> QPixmap:
    if size.isEmpty():
        return QPixmap()
    result, key = QPixmap(size), f"{glyph} {size.width()} {size.height()} {colour.name(QColor.NameFormat.HexArgb)}"
    if not QPixmapCache.find(key, result):
        result.fill(Qt.GlobalColor.transparent)
        painter = QPainter(result)
        _paint_glyph(painter, QRect(QPoint(0, 0), size), glyph, colour)
        painter.end()
        QPixmapCache.insert(key, result)
    return result


@cache
def family() -> str:
    """The font's name, once it is loaded; needs the QApplication."""
    number = QFontDatabase.addApplicationFont(str(resource(FONT)))
    return QFontDatabase.applicationFontFamilies(number)[0]


@cache
def characters() -> dict[str, str]:
    """Of each icon by its meaning, which is all that widgets know of it; the file has its name in Phosphor, too."""
    icons: dict[str, tuple[str, str]] = json.loads(resource(ICONS).read_text("utf-8"))
    return {meaning: character for meaning, (_, character) in icons.items()}


WINDOW_SIZES = (16, 24, 32, 48, 64, 128, 256)
SMALL = 32
"""Pixels up to which the drawing for small sizes is used; it has no margin."""
MARGIN = 12
"""The margin of the large drawing, in its 128 units."""


def icon_pixmap(name: str, tokens: Tokens, colour: str, size: int, ratio: float) -> QPixmap:
    """The icon `name` in the token `colour`, `size` pixels wide and high on a screen of scale 1 and sharp at `ratio`.

    For what paints itself. An icon made for one painting crashed PySide 6.11 now and then, as it deleted its engine.
    """
    pixels = round(size * ratio)
    pixmap = _glyph_pixmap(QSize(pixels, pixels), characters()[name], QColor(getattr(tokens, colour)))
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def mark(size: int) -> QPixmap:
    """Hookline's mark without a margin, `size` pixels wide and high on a screen of scale 1 and sharp on any."""
    if size <= SMALL:
        return _drawing(size).pixmap(QSize(size, size))
    with_margin = round(size * 128 / (128 - 2 * MARGIN))
    picture = _drawing(with_margin).pixmap(QSize(with_margin, with_margin))
    edge = round(picture.width() * MARGIN / 128)
    side = picture.width() - 2 * edge
    return picture.copy(edge, edge, side, side)


def app_icon() -> QIcon:
    """Hookline's mark for windows, which show it in many sizes."""
    icon = QIcon()
    # An icon holds only one SVG, so the two drawings are added as pixmaps.
    for size in WINDOW_SIZES:
        icon.addPixmap(_drawing(size).pixmap(QSize(size, size), 1.0))
    return icon


def _drawing(size: int) -> QIcon:
    """The simpler drawing up to 32 pixels."""
    return QIcon(str(resource("icons/hookline-small.svg" if size <= SMALL else "icons/hookline.svg")))
