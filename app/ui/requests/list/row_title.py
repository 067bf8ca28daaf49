"""What a row is called: the event where it is known, else what came in a few words; and who sent it, if that is known.

Nothing is hidden in it, whatever senders wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from app.core.bodies.escape import escape
from app.core.gist.gist import gist
from app.core.model import Record, Summary
from app.core.request_target import below_slug
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.tokens import Tokens
from app.ui.widgets.marked_text import elide_around, paint_marks

TITLE_MAX = 400
"""Characters of a target that are looked at for a row: more never fit."""
GAP, LEAST, SENDER_MAX = 10, 40, 130
"""Pixels between the parts; a sender that would have less room is left out unless it is as short as that; the widest
that a sender's name gets."""
PATH_SHARE = 0.4
"""Of the room, for a path that does not fit beside the rest."""
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine


class Title(Record, frozen=True):
    """The parts of a row's name in the order they are drawn; `sender` and `path` may be empty.

    `is_event`: the sender says so itself; otherwise `main` is what Hookline makes of the request.
    """

    main: str
    sender: str
    path: str
    is_event: bool = False


def path_of(summary: Summary) -> str:
    """The target below the slug."""
    return escape(below_slug(summary.target[: TITLE_MAX + 100])[:TITLE_MAX])


def title_of(summary: Summary, providers: Mapping[str, str]) -> Title:
    """The name of a row; `providers` gives services' names by id."""
    path = path_of(summary)
    if path.startswith("/?") or path == "/":
        path = path[1:]  # nothing stands between the slug and the query
    sender = escape(providers.get(summary.provider, summary.provider)) if summary.provider else ""
    if sender and summary.event:
        return Title(main=escape(summary.event), sender=sender, path=path, is_event=True)
    gist = escape(summary.gist) if summary.gist else _gist_so_far(summary)
    return Title(main=gist, sender=sender, path="" if path == gist else path)


def name_of(summary: Summary) -> str:
    """The method and name of a request where there is no list around it: `POST invoice.paid`, `GET /orders/7`."""
    title = title_of(summary, {})
    return " ".join(filter(None, (escape(summary.method[:20]), title.main, title.path)))


def _gist_so_far(summary: Summary) -> str:
    """Of a request that an older version stored: what can be said before its body was read."""
    return gist(summary.method, summary.target, (), summary.content_type, b"", size=summary.size)


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
        main = _Part(title.main, self._bold if bold else self._plain)
        path = self._path(title.path, main, rect.width())
        main_room, path_room = _rooms(main, path, rect.width())
        colour = tokens.text if title.is_event else tokens.text_muted
        # An event's end says as much as its beginning; what Hookline says has the most important first.
        mode = Qt.TextElideMode.ElideMiddle if title.is_event else Qt.TextElideMode.ElideRight
        rest = pen.write(rect, main, colour, main_room, mode)
        if title.sender:
            sender = _Part(title.sender, self._small)
            width = min(sender.width, SENDER_MAX)
            spare = rect.width() - main_room - GAP - (GAP + path_room if path else 0)
            if spare >= min(LEAST, width):
                rest = pen.write(rest, sender, tokens.text_muted, min(width, spare), Qt.TextElideMode.ElideMiddle)
        if path:
            # Paths of one API differ at their end; behind a query the end alone says nothing.
            mode = Qt.TextElideMode.ElideMiddle if "?" in path.text else Qt.TextElideMode.ElideLeft
            pen.write(rest, path, tokens.text_faint, rest.width(), mode)

    def _path(self, text: str, main: _Part, width: int) -> _Part | None:
        """Without its query if there is no room for that: the path before it says what the request is about."""
        if not text:
            return None
        path = _Part(text, self._mono)
        before, query, _ = text.partition("?")
        if before and query and path.width > _path_room(main, width):
            return _Part(before, self._mono)
        return path


def _path_room(main: _Part, width: int) -> int:
    """Pixels of `width` that the path may take."""
    return max(round(width * PATH_SHARE), width - GAP - main.width)


def _rooms(main: _Part, path: _Part | None, width: int) -> tuple[int, int]:
    """Pixels for `main` and the path."""
    if path is None:
        return max(0, min(main.width, width)), 0
    path_room = max(0, min(path.width, _path_room(main, width)))
    return max(0, min(main.width, width - GAP - path_room)), path_room


class _Font:
    def __init__(self, font: QFont) -> None:
        self.font, self.metrics = font, QFontMetrics(font)


class _Part:
    """A text, its font, and the pixels in which it is not elided."""

    def __init__(self, text: str, font: _Font) -> None:
        self.text, self.font = text, font
        self.width = font.metrics.horizontalAdvance(text) + 1  # an advance is rounded, down too


class _Pen:
    """Writes one part after the other."""

    def __init__(self, painter: QPainter, tokens: Tokens, marked: re.Pattern[str] | None) -> None:
        self._painter, self._tokens, self._marked = painter, tokens, marked

    def write(self, rect: QRect, part: _Part, colour: str, room: int, mode: Qt.TextElideMode) -> QRect:
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
