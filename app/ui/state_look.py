"""How each state looks, wherever it is shown: by an icon or a word, never by its colour alone."""

from __future__ import annotations

from typing import NamedTuple, cast

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextLayout

from app.core.model import Endpoint
from app.core.worst_state import State, endpoint_state
from app.ui.qt_events import SessionStats
from app.ui.services import Services
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Tone


class Look(NamedTuple):
    """A state in a word or two, its icon, and the token of its colour."""

    words: str
    icon: str
    colour: str

    @property
    def tone(self) -> Tone:
        """Of a pill; the states' colours are tones."""
        return cast("Tone", self.colour)


LOOKS = {
    State.PAUSED: Look("Paused", "paused", "warning"),
    State.FAILED: Look("Failed", "failed", "danger"),
    State.NOT_SENT: Look("Not sent", "not-sent", "warning"),
    State.NOT_REACHED: Look("Not reached", "warning", "warning"),
    State.FULL: Look("Storage full", "store", "warning"),
    State.DAMAGED: Look("Damaged", "damaged", "danger"),
    State.WAITING: Look("Waiting", "queued", "warning"),
    State.OK: Look("Delivered", "check-circle", "success"),
}
"""Without NONE, which is not shown."""


def state_of(endpoint: Endpoint, services: Services, session_stats: SessionStats) -> State:
    """How an endpoint stands now."""
    use, last = services.store.limits.use_of(endpoint.id), session_stats.last_outcome(endpoint.id)
    return endpoint_state(endpoint, last, use, services.tunnels.url_state)


def paint_look(
    painter: QPainter, place: QRect, look: Look, theme: Theme, *, text: str, colour: str, font: QFont
) -> None:
    """In a cell: the icon, and after it `text` in the token `colour`, shortened to fit."""
    painter.save()
    top = place.top() + (place.height() - metrics.ICON) // 2
    ratio = painter.deviceTransform().m11()
    painter.drawPixmap(place.left(), top, theme.pixmap(look.icon, look.colour, metrics.ICON, ratio))
    painter.setPen(QColor(getattr(theme.tokens, colour)))
    place = place.adjusted(metrics.ICON + 6, 0, 0, 0)
    # A layout, as the style uses for the other cells: `drawText` rounds their height otherwise.
    shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, place.width())
    layout = QTextLayout(shown, font)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(place.width() + metrics.SPACE_1)
    layout.endLayout()
    layout.draw(painter, QPointF(place.left(), place.top() + place.height() // 2 - int(line.height()) // 2))
    painter.restore()
