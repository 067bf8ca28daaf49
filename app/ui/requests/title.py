"""What a row is called: the event and who sent it, where that is known, the target otherwise; nothing hidden in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from app.core.bodies.escape import escape
from app.core.model import Record, Summary
from app.core.targets import below_slug
from app.ui.search.marks import elide_around, paint_marks
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.tokens import Tokens

TITLE_MAX = 400
"""Characters of a target that are looked at for a row: more never fit."""
GAP, LEAST, SENDER_MAX = 10, 40, 130
"""Pixels between the parts; a part that would have less room is left out; the widest that a sender's name gets."""
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine


class Title(Record, frozen=True):
    """The parts of a row's name in the order they are drawn; `sender` and `path` may be empty."""

    main: str
    sender: str
    path: str


def path_of(summary: Summary) -> str:
    """The target below the slug."""
    return escape(below_slug(summary.target[: TITLE_MAX + 100])[:TITLE_MAX])


def title_of(summary: Summary, providers: Mapping[str, str]) -> Title:
    """The name of a row; `providers` gives services' names by id."""
    path = path_of(summary)
    sender = escape(providers.get(summary.provider, summary.provider)) if summary.provider else ""
    if not sender:
        return Title(main=path, sender="", path="")
    rest = "" if path == "/" else path
    if summary.event:
        return Title(main=escape(summary.event), sender=sender, path=rest)
    return Title(main=sender, sender="", path=rest)


class TitlePainter:
    """Draws a title into what room there is: the path goes first, then the sender's name."""

    def __init__(self) -> None:
        self._plain, self._bold = mono_font(SMALL), mono_font(SMALL, QFont.Weight.Bold)
        self._small = ui_font(SMALL)
        self._metrics, self._bold_metrics = QFontMetrics(self._plain), QFontMetrics(self._bold)
        self._small_metrics = QFontMetrics(self._small)

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
        rect = pen.write(rect, (font, fm), tokens.text, text=title.main, room=rect.width())
        if title.sender and rect.width() >= min(LEAST, self._small_metrics.horizontalAdvance(title.sender)):
            room = min(rect.width(), SENDER_MAX)
            rect = pen.write(rect, (self._small, self._small_metrics), tokens.text_muted, text=title.sender, room=room)
        if title.path and rect.width() >= LEAST:
            plain, room = (self._plain, self._metrics), rect.width()
            pen.write(rect, plain, tokens.text_faint, text=title.path, room=room)


class _Pen:
    """Writes one part after the other."""

    def __init__(self, painter: QPainter, tokens: Tokens, marked: re.Pattern[str] | None) -> None:
        self._painter, self._tokens, self._marked = painter, tokens, marked

    def write(self, rect: QRect, font: tuple[QFont, QFontMetrics], colour: str, *, text: str, room: int) -> QRect:
        """Draw `text` into at most `room` pixels; what is left of `rect`."""
        shown = elide_around(text, self._marked, font[1], room)
        self._painter.setFont(font[0])
        if self._marked is not None:
            paint_marks(self._painter, rect, shown, self._marked, self._tokens)
        self._painter.setPen(QColor(colour))
        self._painter.drawText(rect, _FLAGS, shown)
        return rect.adjusted(font[1].horizontalAdvance(shown) + GAP, 0, 0, 0)
