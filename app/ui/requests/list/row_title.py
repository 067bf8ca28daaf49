"""What a row is called: the event where it is known, else what came in a few words; and who sent it, if that is known.

Nothing is hidden in it, whatever senders wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from app.core.bodies.escape import escape
from app.core.gist.gist import gist
from app.core.model import Record, Summary
from app.core.request_target import below_slug
from app.ui.requests.filter.marks import elide_around, paint_marks
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.tokens import Tokens

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
    """Draws a title into what room there is. The sender's name goes first; then `main` and the path share the room."""

    def __init__(self) -> None:
        self._plain, self._bold = ui_font(BASE), ui_font(BASE, QFont.Weight.DemiBold)
        self._small, self._mono = ui_font(SMALL), mono_font(SMALL)
        self._metrics, self._bold_metrics = QFontMetrics(self._plain), QFontMetrics(self._bold)
        self._small_metrics, self._mono_metrics = QFontMetrics(self._small), QFontMetrics(self._mono)

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
        font, fm = (self._bold, self._bold_metrics) if bold else (self._plain, self._metrics)
        colour = tokens.text if title.is_event else tokens.text_muted
        # An event's end says as much as its beginning; what Hookline says has the most important first.
        mode = Qt.TextElideMode.ElideMiddle if title.is_event else Qt.TextElideMode.ElideRight
        title = self._fitted(title, fm, rect.width())
        main, sender, path = self._rooms(title, fm, rect.width())
        rect = pen.write(rect, (font, fm), colour, text=title.main, room=main, mode=mode)
        if sender:
            small = (self._small, self._small_metrics)
            rect = pen.write(rect, small, tokens.text_muted, text=title.sender, room=sender)
        if path:
            # Paths of one API differ at their end; behind a query the end alone says nothing.
            mode = Qt.TextElideMode.ElideMiddle if "?" in title.path else Qt.TextElideMode.ElideLeft
            mono = (self._mono, self._mono_metrics)
            pen.write(rect, mono, tokens.text_faint, text=title.path, room=rect.width(), mode=mode)

    def _fitted(self, title: Title, fm: QFontMetrics, width: int) -> Title:
        """The title without its query where there is no room for that: what it is about stands before."""
        path, query, _ = title.path.partition("?")
        if not (path and query) or _width(self._mono_metrics, title.path) <= self._spare(title, fm, width):
            return title
        return replace(title, path=path)

    def _spare(self, title: Title, fm: QFontMetrics, width: int) -> int:
        """Pixels that the path may take."""
        return max(round(width * PATH_SHARE), width - GAP - _width(fm, title.main))

    def _rooms(self, title: Title, fm: QFontMetrics, width: int) -> tuple[int, int, int]:
        """Pixels for `main`, sender and path; 0 for what is left out. `fm` is of the font that `main` is drawn in."""
        main = _width(fm, title.main)
        path = 0
        if title.path:
            path = max(0, min(_width(self._mono_metrics, title.path), self._spare(title, fm, width)))
        main = max(0, min(main, width - (GAP + path if path else 0)))
        left = width - main - GAP - (GAP + path if path else 0)
        sender = min(_width(self._small_metrics, title.sender), SENDER_MAX) if title.sender else 0
        return main, min(sender, left) if left >= min(LEAST, sender) else 0, path


def _width(fm: QFontMetrics, text: str) -> int:
    """Pixels in which `text` is not elided: an advance is rounded, to less too."""
    return fm.horizontalAdvance(text) + 1


class _Pen:
    """Writes one part after the other."""

    def __init__(self, painter: QPainter, tokens: Tokens, marked: re.Pattern[str] | None) -> None:
        self._painter, self._tokens, self._marked = painter, tokens, marked

    def write(
        self,
        rect: QRect,
        font: tuple[QFont, QFontMetrics],
        colour: str,
        *,
        text: str,
        room: int,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> QRect:
        """Draw `text` into at most `room` pixels; what is left of `rect`."""
        shown = elide_around(text, self._marked, font[1], room, mode)
        self._painter.setFont(font[0])
        if self._marked is not None:
            paint_marks(self._painter, rect, shown, self._marked, self._tokens)
        self._painter.setPen(QColor(colour))
        self._painter.drawText(rect, _FLAGS, shown)
        return rect.adjusted(font[1].horizontalAdvance(shown) + GAP, 0, 0, 0)
