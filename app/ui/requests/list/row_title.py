"""What a row is called: the event where it is known, else what came in a few words; and who sent it, if that is known.

Nothing is hidden in it, whatever senders wrote.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from app.ui.request.title import Title
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.tokens import Tokens
from app.ui.widgets.marked_text import elide_around, paint_marks

GAP, LEAST, SENDER_MAX = 10, 40, 130
"""Pixels between the parts; a sender that would have less room is left out unless it is as short as that; the widest
that a sender's name gets."""
PATH_SHARE = 0.4
"""Of the room, for a path that does not fit beside the rest."""
PATH_LEAST = 64
"""Pixels; a path that is cut to less says too little to cut an event for it."""
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine


class TitlePainter:
    """Draws a title into the available room. The sender's name is left out first; then `main` and the path share the
    room.
    """

    def __init__(self) -> None:
        self._plain, self._bold = _Font(ui_font(BASE)), _Font(ui_font(BASE, QFont.Weight.DemiBold))
        self._small, self._mono = _Font(ui_font(SMALL)), _Font(mono_font(SMALL))

    def paint(
        self,
        painter: QPainter,
        rect: QRect,
        title: Title,
        *,
        bold: bool,
        tokens: Tokens,
        marked: re.Pattern[str] | None = None,
    ) -> None:
        """Draw into `rect`, a soft ground behind what `marked` finds."""
        pen = _Pen(painter, tokens, marked)
        main = _TextPart(title.main, self._bold if bold else self._plain)
        path = self._path(title.path, main, rect.width())
        main_room, path_room = _rooms(main, path, rect.width())
        if path and title.is_event and main_room < main.width and path_room < min(path.width, PATH_LEAST):
            path = None
            main_room, path_room = _rooms(main, path, rect.width())
        colour = tokens.text if title.is_event else tokens.text_muted
        # An event's end says as much as its beginning; what Hookline says has the most important first.
        mode = Qt.TextElideMode.ElideMiddle if title.is_event else Qt.TextElideMode.ElideRight
        rest = pen.write(rect, main, colour, main_room, mode)
        if title.sender:
            sender = _TextPart(title.sender, self._small)
            width = min(sender.width, SENDER_MAX)
            spare = rect.width() - main_room - GAP - (GAP + path_room if path else 0)
            if spare >= min(LEAST, width):
                rest = pen.write(rest, sender, tokens.text_muted, min(width, spare), Qt.TextElideMode.ElideMiddle)
        if path:
            # Paths of one API differ at their end; behind a query the end alone says nothing.
            mode = Qt.TextElideMode.ElideMiddle if "?" in path.text else Qt.TextElideMode.ElideLeft
            pen.write(rest, path, tokens.text_faint, rest.width(), mode)

    def _path(self, text: str, main: _TextPart, width: int) -> _TextPart | None:
        """Without its query if there is no room for that: the path before it says what the request is about."""
        if not text:
            return None
        path = _TextPart(text, self._mono)
        before, query, _ = text.partition("?")
        if before and query and path.width > _path_room(main, width):
            return _TextPart(before, self._mono)
        return path


def _path_room(main: _TextPart, width: int) -> int:
    """Pixels of `width` that the path may take."""
    return max(round(width * PATH_SHARE), width - GAP - main.width)


def _rooms(main: _TextPart, path: _TextPart | None, width: int) -> tuple[int, int]:
    """Pixels for `main` and the path."""
    if path is None:
        return max(0, min(main.width, width)), 0
    path_room = max(0, min(path.width, _path_room(main, width)))
    return max(0, min(main.width, width - GAP - path_room)), path_room


class _Font:
    def __init__(self, font: QFont) -> None:
        self.font, self.metrics = font, QFontMetrics(font)


class _TextPart:
    """A text, its font, and the pixels in which it is not elided."""

    def __init__(self, text: str, font: _Font) -> None:
        self.text, self.font = text, font
        self.width = font.metrics.horizontalAdvance(text) + 1  # an advance is rounded, down too


class _Pen:
    """Writes one part after the other."""

    def __init__(self, painter: QPainter, tokens: Tokens, marked: re.Pattern[str] | None) -> None:
        self._painter, self._tokens, self._marked = painter, tokens, marked

    def write(self, rect: QRect, part: _TextPart, colour: str, room: int, mode: Qt.TextElideMode) -> QRect:
        """Draw `part` into at most `room` pixels; what is left of `rect`."""
        text, advance = part.text, part.width - 1
        if part.width > room:
            text = elide_around(text, self._marked, part.font.metrics, room, mode)
            advance = part.font.metrics.horizontalAdvance(text)
        self._painter.setFont(part.font.font)
        if self._marked is not None:
            paint_marks(self._painter, rect, text, self._marked, self._tokens)
        self._painter.setPen(QColor(colour))
        self._painter.drawText(rect, _FLAGS, text)
        return rect.adjusted(advance + GAP, 0, 0, 0)
