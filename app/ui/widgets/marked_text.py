"""Text with the words of a filter highlighted: in one line, in wrapped lines, and in the cells of a table or tree; and
how Qt counts the characters of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption
from PySide6.QtWidgets import QAbstractItemView, QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

GROUND_ALPHA = 0.32


def utf16(text: str) -> int:
    """Its length for Qt, which counts UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def characters(text: str, units: int) -> int:
    """The number of characters in the first UTF-16 units of `text`."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))


def qt_places(text: str) -> list[int]:
    """Qt's position of each character and of the end."""
    return [0, *accumulate(2 if character > "\uffff" else 1 for character in text)]


def styled(start: int, length: int, style: QTextCharFormat) -> QTextLayout.FormatRange:
    """Characters of a laid out text in this style; they are counted as Qt does."""
    result = QTextLayout.FormatRange()
    result.start, result.length, result.format = start, length, style
    return result


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
        begin = utf16(text[: match.start()])
        end = begin + utf16(match.group())
        for line in lines:
            first, last = max(begin, line.textStart()), min(end, line.textStart() + line.textLength())
            if first < last:
                left, right = _x(line, first), _x(line, last)
                yield QRectF(min(left, right) - 1, line.y(), abs(right - left) + 2, line.height())


def _x(line: QTextLine, at: int) -> float:
    # PySide also returns the position it was given, and its type stubs do not say so.
    found: Any = line.cursorToX(at)
    return float(found[0])


class CellDelegate(QStyledItemDelegate):
    """`pattern` is what is marked; None marks nothing."""

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view
        self.pattern: re.Pattern[str] | None = None

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        self.pattern = pattern
        self._view.viewport().update()

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """The highlights are painted over the cell, which the style paints completely."""
        pattern = self.pattern
        text = str(index.data() or "")
        if pattern is None or pattern.search(text) is None:
            super().paint(painter, option, index)
            return
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        style = self._view.style() or QApplication.style()
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, shown, self._view)
        room = room.adjusted(3, 0, -3, 0)  # The margin that Qt leaves beside the text.
        shown.text = elide_around(text, pattern, shown.fontMetrics, room.width())
        shown.textElideMode = Qt.TextElideMode.ElideRight
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, self._view)
        painter.save()
        painter.setFont(shown.font)
        painter.setClipRect(room)
        paint_marks(painter, room, shown.text, pattern, self._theme.tokens)
        painter.restore()
