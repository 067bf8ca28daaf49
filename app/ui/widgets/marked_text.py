"""Text with the words of a filter highlighted: in one line, in wrapped lines, and in the cells of a table or tree; and
how Qt counts the characters of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption
from PySide6.QtWidgets import QAbstractItemView, QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens


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


def match_ground(tokens: Tokens) -> QColor:
    """The soft background of matches."""
    colour = QColor(tokens.warning_fill)
    colour.setAlphaF(0.32)
    return colour


def take_up_ground(painter: QPainter, tokens: Tokens) -> None:
    """Use the background of matches for painting, until the painter is restored."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(match_ground(tokens))


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
    layout = wrapped(text, painter.font(), rect.size())
    take_up_ground(painter, tokens)
    for place in marked_places(layout, pattern):
        painter.drawRoundedRect(place.translated(rect.topLeft()), 3, 3)
    painter.restore()
    layout.draw(painter, QPointF(rect.topLeft()))


def wrapped(text: str, font: QFont, room: QSize) -> QTextLayout:
    """The lines that begin within this room."""
    layout, option = QTextLayout(text, font), QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
    layout.setTextOption(option)
    top = 0.0
    layout.beginLayout()
    while top < room.height() and (line := layout.createLine()).isValid():
        line.setLineWidth(room.width())
        line.setPosition(QPointF(0, top))
        top += line.height()
    layout.endLayout()
    return layout


def marked_places(layout: QTextLayout, pattern: re.Pattern[str]) -> Iterator[QRectF]:
    """The rectangles of the matches, one for each line a match is on."""
    text, lines = layout.text(), [layout.lineAt(number) for number in range(layout.lineCount())]
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
