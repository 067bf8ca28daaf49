"""Finds a filter's matches in a text, and highlights them in a painted line."""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter

from app.ui.theme.tokens import Tokens

GROUND_ALPHA = 0.32


def elide_around(
    text: str,
    pattern: re.Pattern[str] | None,
    fm: QFontMetrics,
    width: int,
    mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
) -> str:
    """The part of `text` that fits into `width` pixels: its ends (or as `mode` says), or the part around the first
    match if that would be cut off.
    """
    shown = fm.elidedText(text, mode, width)
    match = pattern.search(text) if pattern is not None else None
    if match is None or pattern is None or shown == text or pattern.search(shown):
        return shown
    spare = max(0, width // max(1, fm.averageCharWidth()) - (match.end() - match.start()))
    begin = max(0, match.start() - spare // 2)
    part = "…" + text[begin:] if begin else text
    return fm.elidedText(part, Qt.TextElideMode.ElideRight, width)


def take_up_ground(painter: QPainter, tokens: Tokens) -> None:
    """Use the soft background of matches for painting, until the painter is restored."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    colour = QColor(tokens.warning_fill)
    colour.setAlphaF(GROUND_ALPHA)
    painter.setBrush(colour)


def paint_marks(painter: QPainter, rect: QRect, text: str, pattern: re.Pattern[str], tokens: Tokens) -> None:
    """Paint a soft background behind each match of `text`, which is about to be drawn from the left of `rect`."""
    fm = painter.fontMetrics()
    take_up_ground(painter, tokens)
    for match in pattern.finditer(text):
        left = rect.left() + fm.horizontalAdvance(text[: match.start()])
        width = fm.horizontalAdvance(match.group())
        top = rect.top() + (rect.height() - fm.height()) / 2
        painter.drawRoundedRect(QRectF(left - 1, top, width + 2, fm.height()), 3, 3)
    painter.restore()
