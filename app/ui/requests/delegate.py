"""Paints one request to a row, all text plain and escaped, at the same height for all."""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.model import MirrorState, Summary
from app.core.targets import type_hint
from app.core.wording import ago_text, exact_time, sender_line, size_text
from app.ui.requests.model import SUMMARY_ROLE
from app.ui.requests.title import TitlePainter, title_of
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import METHOD_SIZE, paint_method
from app.ui.widgets.labels import plain_tooltip

ROW = 32
TIME_WIDTH, SIZE_WIDTH, HINT_WIDTH, STATE_WIDTH, MARK_WIDTH = 46, 60, 62, 22, 24
MARGIN = 12
HINT_FROM = 480
"""Narrower lists leave the content type's column out."""

STATES = {
    MirrorState.QUEUED: ("queued", "warning", "waiting to be mirrored"),
    MirrorState.DELIVERED: ("check-circle", "success", "mirrored"),
    MirrorState.FAILED: ("failed", "danger", "mirroring failed"),
}
Index = QModelIndex | QPersistentModelIndex


class RequestDelegate(QStyledItemDelegate):
    """Draws `Summary`s. `names` gives an endpoint's name where the list shows those of all, `providers` a service's;
    `marked` finds what is marked.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.names: dict[int, str] | None = None
        self.providers: Mapping[str, str] = {}
        self.marked: re.Pattern[str] | None = None
        self._theme = theme
        self._pixmaps: dict[tuple[str, str], QPixmap] = {}
        self._title_painter = TitlePainter()
        self._small = ui_font(SMALL)
        self._small_metrics = QFontMetrics(self._small)
        theme.changed.connect(self._recolour)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """One height for all rows."""
        return QSize(200, ROW)

    def time_rect(self, row: QRect) -> QRect:
        """Where a row tells its age."""
        return QRect(row.right() - MARGIN - STATE_WIDTH - TIME_WIDTH, row.top(), TIME_WIDTH, row.height())

    def star_rect(self, row: QRect) -> QRect:
        """Where a row has its star."""
        hint = HINT_WIDTH if row.width() >= HINT_FROM else 0
        right = row.right() - MARGIN - STATE_WIDTH - TIME_WIDTH - SIZE_WIDTH - hint
        return QRect(right - MARK_WIDTH, row.top(), MARK_WIDTH, row.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Ground, dot, method, title, type, size, age, mirror state."""
        summary: Summary = index.data(SUMMARY_ROLE)
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        ground = self._ground(painter, option, tokens)
        if not summary.read:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(QRectF(rect.left() + 9, rect.center().y() - 2, 6, 6))
        badge = QRectF(rect.left() + 22, rect.top() + (ROW - METHOD_SIZE.height()) / 2, 52, METHOD_SIZE.height())
        paint_method(painter, badge, escape(summary.method[:20]), tokens, ground)
        self._right_side(painter, rect, summary, tokens)
        right = self._marks(painter, rect, summary)
        self._title(painter, QRect(rect.left() + 84, rect.top(), right - rect.left() - 96, ROW), summary, tokens)
        if not summary.starred and option.state & QStyle.StateFlag.State_MouseOver:
            # A star can be given here; the title's end makes way without being laid out anew.
            painter.fillRect(self.star_rect(rect).adjusted(0, 0, 0, -1), QColor(ground))
            self._icon(painter, self.star_rect(rect), "star", "text_faint")
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> str:
        state, rect = option.state, option.rect
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        colour = tokens.selection if selected else tokens.hover if hovered else tokens.surface
        painter.fillRect(rect, QColor(colour))
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        if selected and focused:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(tokens.accent))
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        return colour

    def _right_side(self, painter: QPainter, rect: QRect, summary: Summary, tokens: Tokens) -> None:
        """Draw from the right edge inwards."""
        right = rect.right() - MARGIN
        self._state(painter, QRect(right - STATE_WIDTH, rect.top(), STATE_WIDTH, ROW), summary.mirror, tokens)
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.time_rect(rect).adjusted(0, 0, -4, 0), flags, ago_text(summary.received_at, now_us()))
        right -= STATE_WIDTH + TIME_WIDTH
        size = QRect(right - SIZE_WIDTH, rect.top(), SIZE_WIDTH, ROW)
        if summary.complete:
            painter.drawText(size, flags, size_text(summary.size))
        else:
            painter.setPen(QColor(tokens.warning))
            painter.drawText(size, flags, "cut off")
        right -= SIZE_WIDTH
        if rect.width() >= HINT_FROM:
            painter.setPen(QColor(tokens.text_faint))
            hint = QRect(right - HINT_WIDTH, rect.top(), HINT_WIDTH, ROW)
            text = escape(type_hint(summary.content_type[:80]))
            text = self._small_metrics.elidedText(text, Qt.TextElideMode.ElideRight, HINT_WIDTH)
            painter.drawText(hint, flags, text)

    def _marks(self, painter: QPainter, rect: QRect, summary: Summary) -> int:
        """Star and note; where the title must end."""
        place = self.star_rect(rect)
        right = place.right()
        if summary.starred:
            self._icon(painter, place, "starred", "warning_fill")
            right = place.left()
        if summary.note:
            place = place.translated(-MARK_WIDTH, 0)
            self._icon(painter, place, "note", "text_muted")
            right = place.left()
        return right

    def _state(self, painter: QPainter, rect: QRect, state: MirrorState, tokens: Tokens) -> None:
        if state is MirrorState.NONE:
            painter.setPen(QColor(tokens.text_faint))
            painter.setFont(self._small)
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, "\N{EN DASH}")
            return
        name, colour, _ = STATES[state]
        self._icon(painter, rect, name, colour)

    def _icon(self, painter: QPainter, rect: QRect, name: str, colour: str) -> None:
        pixmap = self._pixmaps.get((name, colour))
        if pixmap is None:
            ratio = painter.device().devicePixelRatio()
            pixmap = self._theme.icon(name, colour).pixmap(QSize(metrics.ICON, metrics.ICON), ratio)
            self._pixmaps[name, colour] = pixmap
        painter.drawPixmap(rect.center() - QPoint(metrics.ICON // 2 - 1, metrics.ICON // 2 - 1), pixmap)

    def _title(self, painter: QPainter, rect: QRect, summary: Summary, tokens: Tokens) -> None:
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        if self.names is not None:
            name = self.names.get(summary.endpoint_id, "")
            width = min(120, rect.width() // 3)
            name = self._small_metrics.elidedText(name, Qt.TextElideMode.ElideRight, width)
            painter.setFont(self._small)
            painter.setPen(QColor(tokens.text_muted))
            painter.drawText(rect, flags, name)
            rect = rect.adjusted(width + 12, 0, 0, 0)
        title = title_of(summary, self.providers)
        self._title_painter.paint(painter, rect, title, bold=not summary.read, tokens=tokens, marked=self.marked)

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        """The exact time and the whole target, as plain text; made only when asked for."""
        if index.isValid():
            QToolTip.showText(event.globalPos(), plain_tooltip(tooltip(index.data(SUMMARY_ROLE), self.providers)), view)
        return True

    @Slot()
    def _recolour(self) -> None:
        self._pixmaps.clear()


def tooltip(summary: Summary, providers: Mapping[str, str]) -> str:
    """What the row has no room for."""
    lines = [f"{escape(summary.method)} {escape(summary.target[:600])}", exact_time(summary.received_at)]
    if sender := sender_line(summary.provider, summary.event, providers):
        lines.insert(0, sender)
    if summary.mirror in STATES:
        lines.append(STATES[summary.mirror][2].capitalize())
    if summary.note:
        first, *more = (escape(line) for line in summary.note.split("\n"))
        lines += [f"Note: {first}", *more]
    if not summary.complete:
        lines.append("The sender broke off before the end of the body.")
    return "\n".join(lines)
