"""Draws icons from the characters of the Phosphor font."""

from __future__ import annotations

import json
from functools import cache

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QIconEngine, QPainter, QPixmap

from app.core.resources import resource

FONT, CHARACTERS = "fonts/phosphor-1.3.0.ttf", "fonts/phosphor-charmap-1.3.0.json"
SCALE = 0.875 * 1.14
"""The size of the character relative to the icon's height: a glyph has some padding."""


class GlyphEngine(QIconEngine):
    """One character, with one colour for each state."""

    def __init__(self, glyph: str, plain: QColor, lit: QColor, disabled: QColor) -> None:
        super().__init__()
        self._glyph, self._plain, self._lit, self._disabled = glyph, plain, lit, disabled

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Paint the glyph centred in `rect`."""
        painter.save()
        font = QFont(family())
        font.setPixelSize(max(1, round(rect.height() * SCALE)))
        painter.setFont(font)
        painter.setPen(self._colour(mode, state))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, self._glyph)
        painter.restore()

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """The glyph on a transparent background; empty for a button that has no space for its icon during layout."""
        if size.isEmpty():
            return QPixmap()
        result = QPixmap(size)
        result.fill(Qt.GlobalColor.transparent)
        painter = QPainter(result)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return result

    def _colour(self, mode: QIcon.Mode, state: QIcon.State) -> QColor:
        if mode == QIcon.Mode.Disabled:
            return self._disabled
        return self._plain if mode == QIcon.Mode.Normal and state == QIcon.State.Off else self._lit


@cache
def family() -> str:
    """The font's name, once it is loaded; needs the QApplication."""
    number = QFontDatabase.addApplicationFont(str(resource(FONT)))
    return QFontDatabase.applicationFontFamilies(number)[0]


@cache
def characters() -> dict[str, str]:
    """The name of each glyph, with its character."""
    codes: dict[str, str] = json.loads(resource(CHARACTERS).read_text("utf-8"))
    return {name: chr(int(code, 16)) for name, code in codes.items()}
