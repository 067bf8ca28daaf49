"""The timeline of a request's deliveries: each with its attempts, and when the next one comes. All text is plain and
escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery, FailureKind, trigger_text
from app.core.model import WORST_FIRST, DeliveryState
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
    timing_parts,
)
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.throttle import WhileShown
from app.ui.widgets.badge import paint_box, paint_pill, pill_width
from app.ui.widgets.rows import RIGHT, Column, Rows, RowsList, paint_line

BAR, LEGEND_ROW, SQUARE = 8, 18, 8
GAP, APART = 6, 16
LEAST_PART = 2.0
"""Pixels of a part however short it was."""


def paint_bar(painter: QPainter, rect: QRectF, attempt: Attempt, longest_ms: float, tokens: Tokens) -> None:
    """Paint the parts of an attempt into `rect`, of which an attempt of `longest_ms` takes the whole width."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    track = QPainterPath()
    track.addRoundedRect(rect, rect.height() / 2, rect.height() / 2)
    painter.setClipPath(track)
    painter.fillRect(rect, QColor(tokens.pressed))
    scale = rect.width() / longest_ms if longest_ms > 0 else 0.0
    left = rect.left()
    for _, token, ms in timing_parts(attempt):
        width = max(LEAST_PART, ms * scale) if ms > 0 else 0.0
        painter.fillRect(QRectF(left, rect.top(), width, rect.height()), QColor(getattr(tokens, token)))
        left += width
    painter.restore()


def legend_text(attempt: Attempt) -> str:
    """`Lookup 1.2 ms, Connect 0.4 ms, Waiting for first byte 12 ms`."""
    return ", ".join(f"{name} {ms_text(ms)}" for name, _, ms in timing_parts(attempt))


class TimingBar(QWidget):
    """The bar of one attempt over the whole width, with the name and duration of each part below it."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._attempt: Attempt | None = None
        self._font = ui_font(SMALL)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_attempt(self, attempt: Attempt) -> None:
        self._attempt = attempt
        text = f"{legend_text(attempt)}, {ms_text(attempt.ms)} in all"
        self.setAccessibleName(text)
        self.setToolTip(text)
        self._fit()
        self.update()

    def sizeHint(self) -> QSize:
        places = self._places()
        return QSize(200, BAR + GAP + LEGEND_ROW * (places[-1][-1] + 1 if places else 1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._attempt is None:
            return
        painter, tokens = QPainter(self), self._theme.tokens
        paint_bar(painter, QRectF(0, 0, self.width(), BAR), self._attempt, self._attempt.ms, tokens)
        for name, value, token, left, row in self._places():
            top = BAR + GAP + row * LEGEND_ROW
            square = QRectF(left, top + (LEGEND_ROW - SQUARE) / 2, SQUARE, SQUARE)
            paint_box(painter, square, 2, getattr(tokens, token))
            words = QRect(left + SQUARE + GAP, top, self.width(), LEGEND_ROW)
            used = paint_line(painter, words, f"{name} ", self._font, tokens.text_muted)
            paint_line(painter, words.translated(used, 0), value, self._font, tokens.text)

    def _places(self) -> list[tuple[str, str, str, int, int]]:
        """Name, duration and token of each part, with its left edge and its row."""
        if self._attempt is None:
            return []
        fm, left, row = QFontMetrics(self._font), 0, 0
        places = []
        for name, token, ms in timing_parts(self._attempt):
            value = ms_text(ms)
            need = SQUARE + GAP + fm.horizontalAdvance(f"{name} {value}")
            if left and left + need > self.width():
                left, row = 0, row + 1
            places.append((name, value, token, left, row))
            left += need + APART
        return places

    def _fit(self) -> None:
        height = self.sizeHint().height()
        if self.height() != height or self.minimumHeight() != height:
            self.setFixedHeight(height)


HEAD, ROW = 52, 32
LEFT, INDENT, TEXT = 16, 40, 64
"""Left edges in pixels: the icon of a delivery, the icons of its attempts, and the text of both."""
NUMBER_WIDTH, MS_WIDTH, TIME_WIDTH = 26, 60, 66
BAR_MIN, BAR_MAX, BAR_SHARE, BAR_HEIGHT = 56, 260, 0.15, 8
TIMED = 520
"""Narrower rows leave out the time; the tooltip and the pane below have it."""
RESPONDED = "The sender got this response."
Attempts = Mapping[str, Sequence[Attempt]]
"""The attempts of deliveries, by their IDs."""


@dataclass(frozen=True)
class Row:
    """A delivery (`attempt` None), one of its attempts, or (`waiting`) its next one. `first` is the first of all rows,
    `last` the last of its delivery. `longest_ms` is the scale of the delivery's bars."""

    delivery: Delivery
    target: Target | None
    attempt: Attempt | None = None
    waiting: bool = False
    longest_ms: float = 0.0
    first: bool = False
    last: bool = False

    @property
    def key(self) -> tuple[str, int]:
        number = self.attempt.number if self.attempt is not None else 0
        return self.delivery.id, -1 if self.waiting else number


def _height(row: Row) -> int:
    return ROW if row.attempt is not None or row.waiting else HEAD


def rows_of(
    deliveries: Sequence[Delivery], attempts: Attempts, target_of: Callable[[int | None], Target | None]
) -> list[Row]:
    """Deliveries to targets first, as they were queued; then replays, the last one first."""
    rows: list[Row] = []
    replays = [one for one in deliveries if one.replay_id is not None]
    for delivery in [*(one for one in deliveries if one.replay_id is None), *reversed(replays)]:
        target = target_of(delivery.target_id)
        rows.append(Row(delivery, target, first=not rows))
        made = attempts.get(delivery.id, ())
        longest = max((one.ms for one in made), default=0.0)
        waits = delivery.state is DeliveryState.QUEUED
        rows += [Row(delivery, target, one, longest_ms=longest, last=one is made[-1] and not waits) for one in made]
        if waits:
            rows.append(Row(delivery, target, waiting=True, last=True))
    return rows


class AttemptRows(Rows[Row]):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__([Column("", row_words, _tooltip, self._paint)], parent)
        self._theme = theme
        self._strong, self._plain = ui_font(BASE, QFont.Weight.DemiBold), ui_font(BASE)
        self._small, self._mono = ui_font(SMALL), mono_font(SMALL)

    def row_of(self, key: tuple[str, int]) -> int | None:
        return next((at for at, row in enumerate(self._rows) if row.key == key), None)

    def _paint(self, painter: QPainter, rect: QRect, row: Row) -> None:
        if row.waiting:
            self._paint_waiting(painter, rect, row)
        elif row.attempt is not None:
            self._paint_attempt(painter, rect, row)
        else:
            self._paint_delivery(painter, rect, row)

    def _paint_delivery(self, painter: QPainter, rect: QRect, row: Row) -> None:
        tokens, delivery = self._theme.tokens, row.delivery
        look = look_of(delivery, row.target)
        if not row.first:
            painter.setPen(QColor(tokens.border))
            painter.drawLine(rect.topLeft(), rect.topRight())
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
        left = paint_line(painter, first, look.words, self._strong, getattr(tokens, look.colour))
        facts = [made] if (made := attempts_text(delivery)) else []
        if row.target is None and delivery.target_id is not None:
            facts.append("target deleted")
        facts.append(f"queued {clock_time(delivery.queued_at)[:8]}")
        paint_line(painter, first.adjusted(left, 0, 0, 0), " · " + " · ".join(facts), self._plain, tokens.text_muted)
        url, middle = escape(delivery.request_url(row.target)), Qt.TextElideMode.ElideMiddle
        paint_line(painter, second, url, self._mono, tokens.text_muted, elide=middle)

    def _paint_attempt(self, painter: QPainter, rect: QRect, row: Row) -> None:
        attempt, tokens = row.attempt, self._theme.tokens
        assert attempt is not None
        look = look_of_attempt(attempt)
        self._rail(painter, rect, row, first=attempt.number == 1)
        self._icon(painter, QRect(rect.left() + INDENT, rect.top(), metrics.ICON, ROW), look.icon, look.colour)
        left, right = rect.left() + TEXT, rect.right() - metrics.SPACE_4
        number = QRect(left, rect.top(), NUMBER_WIDTH - 8, ROW)
        paint_line(painter, number, str(attempt.number), self._mono, tokens.text_faint, align=RIGHT)
        left += NUMBER_WIDTH
        if rect.width() >= TIMED:
            right -= TIME_WIDTH
            at, time = QRect(right, rect.top(), TIME_WIDTH, ROW), clock_time(attempt.started_at)[:8]
            paint_line(painter, at, time, self._small, tokens.text_muted, align=RIGHT)
        right -= MS_WIDTH
        timed = attempt.failure not in UNTIMED
        if timed:
            at = QRect(right, rect.top(), MS_WIDTH, ROW)
            paint_line(painter, at, ms_text(attempt.ms), self._small, tokens.text_muted, align=RIGHT)
        width = max(BAR_MIN, min(BAR_MAX, round(rect.width() * BAR_SHARE)))
        right -= width + metrics.SPACE_1
        if timed:
            bar = QRectF(right, rect.top() + (ROW - BAR_HEIGHT) / 2, width, BAR_HEIGHT)
            paint_bar(painter, bar, attempt, row.longest_ms, tokens)
        words = QRect(left, rect.top(), max(0, right - metrics.SPACE_3 - left), ROW)
        used = paint_line(painter, words, result_of(attempt), self._plain, getattr(tokens, look.colour))
        rest = words.adjusted(used, 0, 0, 0)
        if rest.width() > 24 and (trigger := trigger_text(attempt)):
            paint_line(painter, rest, f" · {trigger}", self._plain, tokens.text_muted)

    def _paint_waiting(self, painter: QPainter, rect: QRect, row: Row) -> None:
        look = look_of(row.delivery, row.target)
        self._rail(painter, rect, row, first=row.delivery.attempts == 0)
        self._icon(painter, QRect(rect.left() + INDENT, rect.top(), metrics.ICON, ROW), look.icon, look.colour)
        words = QRect(rect.left() + TEXT + 4, rect.top(), rect.width() - TEXT - metrics.SPACE_4 - 4, ROW)
        text = next_text(row.delivery, row.target, now_us())
        paint_line(painter, words, text, self._plain, self._theme.tokens.text)

    def _rail(self, painter: QPainter, rect: QRect, row: Row, *, first: bool) -> None:
        """The line that joins the attempts of a delivery."""
        middle, centre = rect.left() + INDENT + metrics.ICON // 2, rect.top() + ROW // 2
        painter.setPen(QPen(QColor(self._theme.tokens.border_strong), 1))
        if not first:
            painter.drawLine(QPoint(middle, rect.top()), QPoint(middle, centre - 9))
        if not row.last:
            painter.drawLine(QPoint(middle, centre + 9), QPoint(middle, rect.bottom()))

    def _icon(self, painter: QPainter, rect: QRect, name: str, colour: str) -> None:
        pixmap = self._theme.pixmap(name, colour, metrics.ICON, painter.deviceTransform().m11())
        painter.drawPixmap(QPoint(rect.left(), rect.top() + (rect.height() - metrics.ICON) // 2), pixmap)


def row_words(row: Row) -> str:
    delivery = row.delivery
    if row.waiting:
        return next_text(delivery, row.target, now_us())
    if row.attempt is not None:
        return attempt_text(row.attempt, delivery.attempts)
    replay = "replay" if delivery.replay_id is not None else ""
    url = escape(delivery.request_url(row.target))
    return ", ".join(filter(None, (look_of(delivery, row.target).words, replay, attempts_text(delivery), url)))


def _tooltip(row: Row) -> str:
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
        lines.append(RESPONDED)
    return "\n".join(lines)


class AttemptList(RowsList[Row]):
    """`chosen` says that another row is current. Until the user chooses one, the last attempt of the first failed
    delivery is current, or of the first one."""

    chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.attempts = AttemptRows(theme, parent)
        super().__init__("Attempts", self.attempts, _height, theme, parent)
        self._by_user = False
        self._updating = False
        WhileShown(self, self._count_down)
        self.selectionModel().currentChanged.connect(self._changed)

    def forget(self) -> None:
        """Another request is shown: nothing is chosen, and the list begins at its top."""
        self._by_user = False
        self.show_rows([])

    def show_rows(self, rows: list[Row]) -> None:
        """Show these; what the user chose stays current, and the list where it was scrolled to."""
        current, top = self.current_record(), self.verticalScrollBar().value()
        self._updating = True
        self.attempts.show_records(rows, lambda row: row.key)
        at = self.attempts.row_of(current.key) if current is not None and self._by_user else None
        if at is None:
            self._by_user = False
            at = self._usual_row()
        moved = bool(rows) and at != self.current_row()
        if moved:
            self.select_row(at)
        self.doItemsLayout()
        self.verticalScrollBar().setValue(top)
        if moved and not self._by_user:
            self.scrollTo(self.currentIndex())
        self._updating = False

    def content_height(self) -> int:
        """Pixels that all rows take."""
        return sum(_height(row) for row in self.attempts.records()) + 2

    def _usual_row(self) -> int:
        """The last attempt of the worst delivery, the first of those."""
        rows = self.attempts.records()
        if not rows:
            return 0
        worst = min((row.delivery for row in rows), key=lambda one: WORST_FIRST.index(one.state))
        of_it = [at for at, row in enumerate(rows) if row.delivery.id == worst.id]
        made = [at for at in of_it if rows[at].attempt is not None]
        return next(iter([*made[-1:], *of_it]), 0)

    @Slot()
    def _count_down(self) -> None:
        for at, row in enumerate(self.attempts.records()):
            if row.waiting:
                self.update(self.attempts.index(at, 0))

    @Slot()
    def _changed(self) -> None:
        if not self._updating:
            self._by_user = True
            self.chosen.emit()
