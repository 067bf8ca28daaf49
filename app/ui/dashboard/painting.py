"""Paints the columns of one endpoint on the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from app.core.model import Counts, Endpoint, MirrorState, StorageUse
from app.core.text import count_of
from app.ui.dashboard.columns import Columns
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import count_text
from app.ui.widgets.sparkline import paint_sparkline

HEIGHT = 64
OUTCOMES = {
    MirrorState.DELIVERED: ("check-circle", "success", "Last one delivered"),
    MirrorState.FAILED: ("failed", "danger", "Last one failed"),
    MirrorState.QUEUED: ("queued", "warning", "Waiting"),
    MirrorState.NONE: ("mirror", "text_faint", "No deliveries yet"),
}


@dataclass(frozen=True)
class Facts:
    """The contents of a row. `last` is the age of the latest request as text, `use` the endpoint's use of its own
    storage limit.
    """

    endpoint: Endpoint
    url: str
    counts: Counts
    outcome: MirrorState
    activity: tuple[int, ...]
    last: str
    use: StorageUse


class UrlLine:
    """A capture URL, measured once. Where it does not fit, the base URL shared by all endpoints is left out."""

    def __init__(self, url: str) -> None:
        mono = QFontMetrics(mono_font())
        self._url, self._path = url, urlsplit(url).path
        self._url_width, self._path_width = mono.horizontalAdvance(url), mono.horizontalAdvance(self._path)

    @staticmethod
    def room(name: QRect) -> QRect:
        """The rectangle of the URL in the name column."""
        return QRect(name.left(), 33, name.width() - 30, 18)

    def shown(self, width: int) -> str:
        """The text drawn in `width` pixels."""
        return self._url if self._url_width <= width else self._path

    def end(self, room: QRect) -> int:
        """The right edge of the text drawn in `room`."""
        used = self._url_width if self._url_width <= room.width() else self._path_width
        return room.left() + min(used, room.width())


def paint_facts(painter: QPainter, facts: Facts, url: UrlLine, columns: Columns, theme: Theme) -> None:
    """Draw everything that is not a control."""
    tokens = theme.tokens
    _paint_name(painter, facts, url, columns.name, tokens)
    _paint_mirror(painter, facts, columns.mirror, theme)
    _text(painter, columns.retention, count_of(facts.endpoint.retention_days, "day"), tokens.text_muted, ui_font())
    _paint_requests(painter, facts, columns.requests, tokens)
    paint_sparkline(painter, QRectF(columns.activity.adjusted(0, 18, 0, -19)), facts.activity, tokens)


def full_text(use: StorageUse) -> str:
    """What happens at an endpoint's storage limit, once it is reached."""
    if not use.reached:
        return ""
    return "Storage full: not capturing" if use.capturing_stopped else "Storage full: oldest deleted"


def _paint_name(painter: QPainter, facts: Facts, url: UrlLine, room: QRect, tokens: Tokens) -> None:
    endpoint, full = facts.endpoint, full_text(facts.use)
    top = QRect(room.left(), 12, room.width(), 20)
    colour = tokens.text if endpoint.active else tokens.text_muted
    used = _text(painter, top, endpoint.name, colour, ui_font(BASE, QFont.Weight.DemiBold))
    rest = top.adjusted(used + 10, 0, 0, 0)
    if full:
        colour = tokens.danger if facts.use.capturing_stopped else tokens.warning
        _text(painter, rest, full, colour, ui_font(SMALL, QFont.Weight.DemiBold))
    elif endpoint.description:
        _text(painter, rest, " ".join(endpoint.description.split()), tokens.text_faint, ui_font(SMALL))
    url_room = UrlLine.room(room)
    _text(painter, url_room, url.shown(url_room.width()), tokens.text_muted, mono_font())


def _paint_mirror(painter: QPainter, facts: Facts, room: QRect, theme: Theme) -> None:
    tokens, target = theme.tokens, facts.endpoint.forward_url
    if not target:
        return
    icon, colour, _ = OUTCOMES[facts.outcome]
    theme.icon(icon, colour).paint(painter, QRect(room.left(), HEIGHT // 2 - 8, 16, 16))
    parts = urlsplit(target)
    _text(painter, room.adjusted(22, 0, 0, 0), parts.netloc + parts.path, tokens.text_muted, ui_font())


def _paint_requests(painter: QPainter, facts: Facts, room: QRect, tokens: Tokens) -> None:
    counts = facts.counts
    top, bottom = QRect(room.left(), 12, room.width(), 20), QRect(room.left(), 33, room.width(), 18)
    used = _text(painter, top, f"{counts.total:,}", tokens.text, ui_font(BASE, QFont.Weight.DemiBold))
    if counts.unread:
        fresh = ui_font(SMALL, QFont.Weight.DemiBold)
        rest = top.adjusted(used + 6, 0, 0, 0)
        _text(painter, rest, unread_text(counts.unread, rest.width(), fresh), tokens.accent_text, fresh)
    _text(painter, bottom, facts.last, tokens.text_faint, ui_font(SMALL))


def unread_text(unread: int, width: int, font: QFont) -> str:
    """The unread count in full, or shortened if it does not fit into `width` pixels."""
    full = f"{unread:,} new"
    return full if QFontMetrics(font).horizontalAdvance(full) <= width else f"{count_text(unread)} new"


def _text(painter: QPainter, room: QRect, text: str, colour: str, font: QFont) -> int:
    """Draw one elided line in `room` and return its width."""
    if room.width() <= 8:
        return 0
    painter.setFont(font)
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)
    return painter.fontMetrics().horizontalAdvance(shown)
