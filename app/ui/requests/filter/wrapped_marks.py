"""Draws text that wraps at any character, with a soft background behind matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QTextLayout, QTextLine, QTextOption

from app.ui.requests.filter.marks import take_up_ground
from app.ui.theme.tokens import Tokens


def paint_wrapped(painter: QPainter, rect: QRect, text: str, pattern: re.Pattern[str] | None, tokens: Tokens) -> None:
    """Draw `text`, which contains no line break, into `rect` with the painter's font and pen, cut off at the bottom."""
    if pattern is None or pattern.search(text) is None:
        painter.drawText(rect, int(Qt.TextFlag.TextWrapAnywhere), text)
        return
    layout = QTextLayout(text, painter.font())
    layout.setTextOption(_wrapping())
    lines = _laid_out(layout, rect)
    take_up_ground(painter, tokens)
    for place in _places(lines, text, pattern):
        painter.drawRoundedRect(place.translated(rect.topLeft()), 3, 3)
    painter.restore()
    for line in lines:
        line.draw(painter, QPointF(rect.topLeft()))


def places(text: str, pattern: re.Pattern[str], font: QFont, width: int) -> list[QRectF]:
    """The rectangles of the matches in a column of this width in pixels, one for each line a match is on."""
    layout = QTextLayout(text, font)
    layout.setTextOption(_wrapping())
    return list(_places(_laid_out(layout, QRect(0, 0, width, 1 << 20)), text, pattern))


def _wrapping() -> QTextOption:
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
    return option


def _laid_out(layout: QTextLayout, rect: QRect) -> list[QTextLine]:
    lines: list[QTextLine] = []
    top = 0.0
    layout.beginLayout()
    while top < rect.height() and (line := layout.createLine()).isValid():
        line.setLineWidth(rect.width())
        line.setPosition(QPointF(0, top))
        top += line.height()
        lines.append(line)
    layout.endLayout()
    return lines


def _places(lines: list[QTextLine], text: str, pattern: re.Pattern[str]) -> Iterator[QRectF]:
    for match in pattern.finditer(text):
        begin = _units(text[: match.start()])
        end = begin + _units(match.group())
        for line in lines:
            first, last = max(begin, line.textStart()), min(end, line.textStart() + line.textLength())
            if first < last:
                left, right = _x(line, first), _x(line, last)
                yield QRectF(min(left, right) - 1, line.y(), abs(right - left) + 2, line.height())


def _units(text: str) -> int:
    """Qt counts UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _x(line: QTextLine, at: int) -> float:
    # PySide also returns the position it was given, and its type stubs do not say so.
    found: Any = line.cursorToX(at)
    return float(found[0])
