"""The rows of the timeline, and what paints them, with all text plain and escaped."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.core.attempt_text import trigger_text
from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery, FailureKind
from app.core.target import Target
from app.core.text import clock_time, exact_time, ms_text
from app.ui.deliveries.words import (
    INTERRUPTED_MEANS,
    UNTIMED,
    attempt_text,
    attempts_text,
    is_paused,
    look_of,
    look_of_attempt,
    next_text,
    paused_text,
    result_of,
)
from app.ui.request.deliveries.timing import legend_text, paint_bar
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import paint_pill, pill_width
from app.ui.widgets.labels import plain_tooltip

Index = QModelIndex | QPersistentModelIndex
HEAD, ROW = 52, 32
LEFT, INDENT, TEXT = 16, 40, 64
"""Left edges in pixels: the icon of a delivery, the icons of its attempts, and the text of both."""
NUMBER_WIDTH, MS_WIDTH, TIME_WIDTH = 26, 60, 66
BAR_MIN, BAR_MAX, BAR_SHARE, BAR_HEIGHT = 56, 260, 0.15, 8
TIMED = 520
"""Narrower rows leave out the time; the tooltip and the pane below have it."""
_MIDDLE = Qt.AlignmentFlag.AlignVCenter
_LINE = int(Qt.AlignmentFlag.AlignLeft | _MIDDLE | Qt.TextFlag.TextSingleLine)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | _MIDDLE | Qt.TextFlag.TextSingleLine)


@dataclass(frozen=True)
class Row:
    """A delivery (`attempt` None), one of its attempts, or (`waiting`) its next one. `longest_ms` is the scale of the
    delivery's bars."""

    delivery: Delivery
    target: Target | None
    attempt: Attempt | None = None
    waiting: bool = False
    longest_ms: float = 0.0
    last: bool = False

    @property
    def key(self) -> tuple[str, int]:
        number = self.attempt.number if self.attempt is not None else 0
        return self.delivery.id, -1 if self.waiting else number


class AttemptDelegate(QStyledItemDelegate):
    """`role` is the model's role for a `Row`."""

    def __init__(self, theme: Theme, parent: QWidget, role: int) -> None:
        super().__init__(parent)
        self._theme, self._role = theme, role
        self._strong, self._plain = ui_font(BASE, QFont.Weight.DemiBold), ui_font(BASE)
        self._small, self._mono = ui_font(SMALL), mono_font(SMALL)

    def height_of(self, row: Row) -> int:
        return ROW if row.attempt is not None or row.waiting else HEAD

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self.height_of(index.data(self._role)))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: Row = index.data(self._role)
        painter.save()
        self._ground(painter, option, above=index.row() > 0 and row.attempt is None and not row.waiting)
        if row.waiting:
            self._paint_waiting(painter, option.rect, row)
        elif row.attempt is not None:
            self._paint_attempt(painter, option.rect, row)
        else:
            self._paint_delivery(painter, option.rect, row)
        painter.restore()

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        if index.isValid():
            QToolTip.showText(event.globalPos(), plain_tooltip(self._tooltip(index.data(self._role))), view)
        return True

    def _tooltip(self, row: Row) -> str:
        delivery, attempt = row.delivery, row.attempt
        if attempt is not None:
            lines = [attempt_text(attempt, delivery.attempts), exact_time(attempt.started_at)]
            if attempt.failure is FailureKind.INTERRUPTED:
                lines.append(INTERRUPTED_MEANS)
            else:
                lines += [escape(attempt.error or ""), legend_text(attempt)]
            return "\n".join(filter(None, lines))
        lines = [escape(delivery.request_url(row.target)), f"Queued {exact_time(delivery.queued_at)}"]
        if row.waiting:
            lines.insert(0, next_text(delivery, row.target, now_us()))
        if row.waiting and delivery.wait_us(now_us()):
            lines.append(f"Due {exact_time(delivery.due_at)}")
        if row.target is not None and is_paused(delivery, row.target):
            lines.append(paused_text(row.target))
        if delivery.responded:
            lines.append("The sender got this response.")
        return "\n".join(lines)

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, *, above: bool) -> None:
        tokens, rect, state = self._theme.tokens, option.rect, option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        colour = tokens.selection if selected else tokens.hover if hovered else tokens.surface
        painter.fillRect(rect, QColor(colour))
        if selected and state & QStyle.StateFlag.State_HasFocus:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(tokens.accent))
        if above:
            painter.setPen(QColor(tokens.border))
            painter.drawLine(rect.topLeft(), rect.topRight())

    def _paint_delivery(self, painter: QPainter, rect: QRect, row: Row) -> None:
        tokens, delivery = self._theme.tokens, row.delivery
        look = look_of(delivery, row.target)
        first = QRect(rect.left() + INDENT, rect.top() + 6, rect.width() - INDENT - metrics.SPACE_4, 20)
        second = first.translated(0, 20)
        self._icon(painter, QRect(rect.left() + LEFT, first.top(), metrics.ICON, 20), look.icon, look.colour)
        marks = (("Sender’s response", delivery.responded), ("Replay", delivery.replay_id is not None))
        pills = [text for text, shown in marks if shown]
        for text in pills:
            width = pill_width(text)
            place = QRectF(first.right() - width + 1, first.top() + 1, width, 18)
            paint_pill(painter, place, text, tokens, "accent" if text != "Replay" else "neutral")
            first.setRight(int(place.left()) - metrics.SPACE_2)
        left = self._text(painter, first, look.words, self._strong, getattr(tokens, look.colour))
        facts = [made] if (made := attempts_text(delivery)) else []
        if row.target is None and delivery.target_id is not None:
            facts.append("target deleted")
        facts.append(f"queued {clock_time(delivery.queued_at)[:8]}")
        self._text(painter, first.adjusted(left, 0, 0, 0), " · " + " · ".join(facts), self._plain, tokens.text_muted)
        self._text(
            painter,
            second,
            escape(delivery.request_url(row.target)),
            self._mono,
            tokens.text_muted,
            elide=Qt.TextElideMode.ElideMiddle,
        )

    def _paint_attempt(self, painter: QPainter, rect: QRect, row: Row) -> None:
        attempt, tokens = row.attempt, self._theme.tokens
        assert attempt is not None
        look = look_of_attempt(attempt)
        self._rail(painter, rect, row, first=attempt.number == 1)
        self._icon(painter, QRect(rect.left() + INDENT, rect.top(), metrics.ICON, ROW), look.icon, look.colour)
        left, right = rect.left() + TEXT, rect.right() - metrics.SPACE_4
        painter.setFont(self._mono)
        painter.setPen(QColor(tokens.text_faint))
        painter.drawText(QRect(left, rect.top(), NUMBER_WIDTH - 8, ROW), _RIGHT, str(attempt.number))
        left += NUMBER_WIDTH
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        if rect.width() >= TIMED:
            right -= TIME_WIDTH
            painter.drawText(QRect(right, rect.top(), TIME_WIDTH, ROW), _RIGHT, clock_time(attempt.started_at)[:8])
        right -= MS_WIDTH
        timed = attempt.failure not in UNTIMED
        painter.drawText(QRect(right, rect.top(), MS_WIDTH, ROW), _RIGHT, ms_text(attempt.ms) if timed else "")
        width = max(BAR_MIN, min(BAR_MAX, round(rect.width() * BAR_SHARE)))
        right -= width + metrics.SPACE_1
        if timed:
            bar = QRectF(right, rect.top() + (ROW - BAR_HEIGHT) / 2, width, BAR_HEIGHT)
            paint_bar(painter, bar, attempt, row.longest_ms, tokens)
        words = QRect(left, rect.top(), max(0, right - metrics.SPACE_3 - left), ROW)
        used = self._text(painter, words, result_of(attempt), self._plain, getattr(tokens, look.colour))
        rest = words.adjusted(used, 0, 0, 0)
        if rest.width() > 24 and (trigger := trigger_text(attempt)):
            self._text(painter, rest, f" · {trigger}", self._plain, tokens.text_muted)

    def _paint_waiting(self, painter: QPainter, rect: QRect, row: Row) -> None:
        look = look_of(row.delivery, row.target)
        self._rail(painter, rect, row, first=row.delivery.attempts == 0)
        self._icon(painter, QRect(rect.left() + INDENT, rect.top(), metrics.ICON, ROW), look.icon, look.colour)
        words = QRect(rect.left() + TEXT + 4, rect.top(), rect.width() - TEXT - metrics.SPACE_4 - 4, ROW)
        text = next_text(row.delivery, row.target, now_us())
        self._text(painter, words, text, self._plain, self._theme.tokens.text)

    def _rail(self, painter: QPainter, rect: QRect, row: Row, *, first: bool) -> None:
        """The line that joins the attempts of a delivery."""
        middle, centre = rect.left() + INDENT + metrics.ICON // 2, rect.top() + ROW // 2
        painter.setPen(QPen(QColor(self._theme.tokens.border_strong), 1))
        if not first:
            painter.drawLine(QPoint(middle, rect.top()), QPoint(middle, centre - 9))
        if not row.last:
            painter.drawLine(QPoint(middle, centre + 9), QPoint(middle, rect.bottom()))

    def _text(
        self,
        painter: QPainter,
        rect: QRect,
        text: str,
        font: QFont,
        colour: str,
        *,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> int:
        """Paint it, shortened to fit; returns its width."""
        fm = QFontMetrics(font)
        shown = fm.elidedText(text, elide, max(0, rect.width()))
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(rect, _LINE, shown)
        return fm.horizontalAdvance(shown)

    def _icon(self, painter: QPainter, rect: QRect, name: str, colour: str) -> None:
        pixmap = self._theme.pixmap(name, colour, metrics.ICON, painter.deviceTransform().m11())
        painter.drawPixmap(QPoint(rect.left(), rect.top() + (rect.height() - metrics.ICON) // 2), pixmap)
