"""The icons of providers: a monogram on the provider's colour, drawn once for each theme and screen scale."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPixmap

from app.core.providers.provider import ProviderMark, monogram_of
from app.ui.theme.fonts import ui_font
from app.ui.theme.tokens import LIGHT, Tokens, contrast, mix

SIZE = 18
RADIUS = 5
LETTERS = "#ffffff"
LEGIBLE, VISIBLE = 4.5, 1.9
"""Minimum contrast of the letters with their background, and of that with the list."""


class ProviderMarks:
    """`marks` come from the catalogue; a provider that is no longer in it gets a grey one."""

    def __init__(self, marks: Mapping[str, ProviderMark]) -> None:
        self._marks = marks
        self._pixmaps: dict[tuple[str, str, float], QPixmap] = {}

    def pixmap(self, provider: str, tokens: Tokens, ratio: float) -> QPixmap:
        """The icon for a screen of this scale."""
        key = (provider, tokens.name, ratio)
        found = self._pixmaps.get(key)
        if found is None:
            mark = self._marks.get(provider) or ProviderMark(monogram=monogram_of(provider), colour=LIGHT.text_faint)
            found = self._pixmaps[key] = _drawn(mark, tokens, ratio)
        return found


def ground_of(colour: str, tokens: Tokens) -> str:
    """A provider's colour, lightened on a dark list until visible; white letters stay legible."""
    ground, share = colour, 0.0
    while contrast(ground, tokens.surface) < VISIBLE and share < 1:
        share += 0.04
        lighter = mix(LETTERS, colour, share)
        if contrast(LETTERS, lighter) < LEGIBLE:
            break
        ground = lighter
    return ground


def _drawn(mark: ProviderMark, tokens: Tokens, ratio: float) -> QPixmap:
    picture = QPixmap(round(SIZE * ratio), round(SIZE * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(ground_of(mark.colour, tokens)))
    painter.drawRoundedRect(QRectF(0, 0, SIZE, SIZE), RADIUS, RADIUS)
    painter.setPen(QColor(LETTERS))
    painter.setFont(ui_font(9 if len(mark.monogram) > 1 else 11, QFont.Weight.Bold))
    painter.drawText(QRectF(0, 0, SIZE, SIZE), Qt.AlignmentFlag.AlignCenter, mark.monogram)
    painter.end()
    return picture
