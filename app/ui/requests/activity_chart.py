"""The chart above the list, and its strip: hovering shows a bar's counts, a drag or the arrow keys select a time
range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QToolTip, QWidget

from app.core.activity import BARS_MAX, EMPTY_BAR, Axis, Bar, Span, period_text, ticks
from app.core.clock import now_us
from app.core.events import Bus
from app.ui.requests.activity_source import ActivitySource
from app.ui.requests.list.pager import TimeRange
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import by_keyboard
from app.ui.widgets.labels import FittingLabel, plain_tooltip
from app.ui.widgets.layout import Space, Stretch, hbox, vbox

if TYPE_CHECKING:
    from app.db.queries import Activity

HEIGHT = 62
TOP, LABELS_HEIGHT = 6, 16
"""Pixels above the highest bar, and for the labels below."""
LABEL_PX = 10
TICK_ROOM = 74
"""Pixels that one label needs."""
FULL = 4
"""A single request has a quarter of the height: a full bar would suggest more."""
LEAST, LOW = 2.0, 3


def colours(tokens: Tokens) -> tuple[str, str, str, str]:
    """Of plain, delivered, failed requests, and those not sent or incomplete: blue, its strong form, red and amber,
    apart in lightness."""
    return tokens.chart_plain, tokens.chart_delivered, tokens.chart_failed, tokens.chart_incomplete


def _grid(painter: QPainter, plot: QRectF, tokens: Tokens) -> None:
    painter.fillRect(QRectF(plot.left(), plot.top(), plot.width(), 1), QColor(tokens.border))
    painter.fillRect(QRectF(plot.left(), plot.center().y(), plot.width(), 1), QColor(tokens.border))
    painter.fillRect(QRectF(plot.left(), plot.bottom(), plot.width(), 1), QColor(tokens.border_strong))


def _slot(painter: QPainter, plot: QRectF, number: int, bars: int) -> QRectF:
    """The position of bar `number` in whole screen pixels, without its gap."""
    slot = plot.width() / bars
    gap = 2.0 if slot >= 8 else 1.0 if slot >= 3 else 0.0
    ratio = painter.deviceTransform().m11()
    left, right = (round((plot.left() + place * slot) * ratio) / ratio for place in (number, number + 1))
    return QRectF(left, plot.top(), max(1.0, right - left - gap), plot.height())


def _bar(painter: QPainter, slot: QRectF, bar: Bar, peak: int, tokens: Tokens) -> None:
    bottom = slot.bottom()
    for height, colour in zip(heights(bar, slot.height() / peak), colours(tokens), strict=True):
        painter.fillRect(QRectF(slot.left(), bottom - height, slot.width(), height), QColor(colour))
        bottom -= height


def heights(bar: Bar, scale: float) -> tuple[int, int, int, int]:
    """The heights of the stacked parts in whole pixels; `scale` is the height of one request.

    A single failure among thousands is still visible, but takes its pixels from the others: the bar does not get
    higher.
    """
    usual, full = bar.plain + bar.delivered, round(max(LEAST, bar.total * scale))
    lacking = bar.not_sent + bar.incomplete
    if usual and full <= LOW:
        full = LOW
        failed, incomplete = (1, 0) if bar.failed else (0, int(lacking > 0))
    else:
        odd = [max(LEAST, count * scale) if count else 0.0 for count in (bar.failed, lacking)]
        room = full - LEAST if usual else full
        shrink = min(1.0, room / sum(odd)) if any(odd) else 1.0
        failed, incomplete = (max(1, round(height * shrink)) if height else 0 for height in odd)
    rest = max(0, full - failed - incomplete) if usual else 0
    delivered = round(rest * bar.delivered / usual) if usual else 0
    return rest - delivered, delivered, failed, incomplete


def _times(painter: QPainter, plot: QRectF, axis: Axis, tokens: Tokens) -> None:
    painter.setFont(ui_font(LABEL_PX))
    metrics = painter.fontMetrics()
    for at, text in ticks(axis, max(2, int(plot.width() // TICK_ROOM))):
        x = plot.left() + axis.place(at) * plot.width()
        painter.fillRect(QRectF(x, plot.bottom(), 1, 3), QColor(tokens.border_strong))
        width = metrics.horizontalAdvance(text)
        left = x - width / 2
        if left >= plot.left() and left + width <= plot.right():
            painter.setPen(QColor(tokens.text_faint))
            painter.drawText(QRectF(left, plot.bottom() + 3, width + 1, LABELS_HEIGHT - 3), 0, text)


def _full(painter: QPainter, plot: QRectF, full: int, tokens: Tokens) -> None:
    """The number of requests that the upper line stands for."""
    painter.setFont(ui_font(LABEL_PX))
    text = f"{full:,}"
    width = painter.fontMetrics().horizontalAdvance(text)
    ground = QRectF(plot.left(), plot.top() - TOP, width + 6, 12)
    painter.fillRect(ground, QColor(tokens.surface))
    painter.setPen(QColor(tokens.text_faint))
    painter.drawText(ground, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)


MOVES = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Home: -BARS_MAX, Qt.Key.Key_End: BARS_MAX}
APPLIES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class ActivityChart(QWidget):
    """`range_selected` carries a `TimeRange`, or None for all times."""

    accessible_role = QAccessible.Role.Chart

    range_selected = Signal(object)

    def __init__(self, source: ActivitySource, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._source, self._theme = source, theme
        self._times: TimeRange | None = None
        self._anchor: int | None = None
        self._cursor: int | None = None
        """Where the bars that are being selected begin and end: the start of the first one marked and the last."""
        self._hovered: int | None = None
        self._dragging = False
        self._by_keyboard = False
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Requests over time")
        source.changed.connect(self._follow)
        theme.changed.connect(self._follow)

    def show_time_range(self, times: TimeRange | None) -> None:
        """Show the selected time range."""
        self._times = times
        self._unmark()

    def marked(self) -> tuple[int, int] | None:
        """The first and last of the bars being selected; None if there are none, or an end has moved out of the
        chart."""
        ends = [self._source.axis.bar_of(at) for at in (self._anchor, self._cursor) if at is not None]
        found = [bar for bar in ends if bar is not None]
        return (min(found), max(found)) if len(found) == 2 else None

    def text_of(self, first: int, last: int) -> str:
        """`12:04-12:05 · 37 requests, 2 with failed deliveries`."""
        start, end = self._source.axis.between(first, last)
        counted = sum(self._source.bars[first : last + 1], EMPTY_BAR)
        return f"{period_text(start, end, now_us())} · {counted.text()}"

    def showEvent(self, event: QShowEvent) -> None:
        """Counting starts once the chart is visible."""
        super().showEvent(event)
        self._source.set_watched(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._source.set_watched(False)
        self._dragging, self._hovered = False, None  # a hidden widget hears of no release and no leave
        self._unmark()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), self._theme.tokens
        axis, bars = self._source.axis, self._source.bars
        plot = QRectF(self.rect()).adjusted(0, TOP, 0, -LABELS_HEIGHT)
        peak = max((bar.total for bar in bars), default=0)
        self._paint_grounds(painter, plot)
        _grid(painter, plot, tokens)
        for number, bar in enumerate(bars):
            if bar.total:
                _bar(painter, _slot(painter, plot, number, axis.bars), bar, max(peak, FULL), tokens)
        _times(painter, plot, axis, tokens)
        if peak:
            _full(painter, plot, max(peak, FULL), tokens)
        if self.hasFocus() and self._by_keyboard:
            painter.setPen(QPen(QColor(tokens.accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _paint_grounds(self, painter: QPainter, plot: QRectF) -> None:
        """Of the bar under the pointer, of the selected time range, and of the bars being selected."""
        axis, tokens, marked = self._source.axis, self._theme.tokens, self.marked()
        tall = plot.adjusted(0, -TOP + 1, 0, 0)
        if self._hovered is not None and not self._dragging:
            slot = plot.width() / axis.bars
            ground = QRectF(plot.left() + self._hovered * slot, tall.top(), slot, tall.height())
            painter.fillRect(ground, QColor(tokens.pressed))
        stretches = [] if self._times is None else [(axis.place(self._times.start), axis.place(self._times.end))]
        if marked is not None:
            stretches.append((marked[0] / axis.bars, (marked[1] + 1) / axis.bars))
        for stretch in stretches:
            if stretch[1] > stretch[0]:
                left, right = (plot.left() + place * plot.width() for place in stretch)
                painter.fillRect(QRectF(left, tall.top(), right - left, tall.height()), QColor(tokens.accent_soft))
                painter.setPen(QPen(QColor(tokens.accent), 1))
                for x in (left, right):
                    inside = min(max(round(x) + 0.5, plot.left() + 0.5), plot.right() - 0.5)
                    painter.drawLine(QPointF(inside, tall.top()), QPointF(inside, tall.bottom()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A drag starts."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._dragging = True
            self._mark(self._bar_under(event), extend=False)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the counts under the pointer, or those of the range being selected."""
        self._hovered = self._bar_under(event)
        if self._dragging:
            self._mark(self._hovered, extend=True)
        first, last = (self.marked() if self._dragging else None) or (self._hovered, self._hovered)
        QToolTip.showText(event.globalPosition().toPoint(), plain_tooltip(self.text_of(first, last)), self)
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the range; a click selects one bar."""
        if event.button() == Qt.MouseButton.LeftButton and self._dragging:
            self._dragging = False
            self._mark(self._bar_under(event), extend=True)
            self._select_range()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = None
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move over the bars and extend the range with Shift; Enter selects it, Esc clears it."""
        key, pending = Qt.Key(event.key()), self._cursor is not None
        if key in MOVES:
            self._by_keyboard = True
            self._move(MOVES[key], extend=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in APPLIES and pending:
            self._select_range()
        elif key == Qt.Key.Key_Escape and pending:
            self._dragging = False
            self._unmark()
        elif key == Qt.Key.Key_Escape and self._times is not None:
            self.range_selected.emit(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Remember how the focus was given."""
        self._by_keyboard = by_keyboard(event)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Drop an unfinished selection."""
        super().focusOutEvent(event)
        if not self._dragging:
            self._unmark()

    def _bar_under(self, event: QMouseEvent) -> int:
        return self._source.axis.bar_at(event.position().x(), self.width())

    def _mark(self, bar: int, *, extend: bool) -> None:
        """Mark this bar, or with `extend` all bars from the first one on."""
        self._cursor = self._source.axis.edges[bar]
        if self._anchor is None or not extend:
            self._anchor = self._cursor
        self._follow()

    def _move(self, step: int, *, extend: bool) -> None:
        """Move by this many bars, within the chart; the first single step goes to the newest bar."""
        axis = self._source.axis
        last = axis.bars - 1
        now = axis.bar_of(self._cursor) if self._cursor is not None else None
        target = last if now is None and abs(step) == 1 else (last if now is None else now) + step
        self._mark(max(0, min(last, target)), extend=extend)

    def _select_range(self) -> None:
        marked = self.marked()
        if marked is not None:
            start, end = self._source.axis.between(*marked)
            self.range_selected.emit(TimeRange(start=start, end=end))
        self._unmark()

    def _unmark(self) -> None:
        self._anchor = self._cursor = None
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Repaint, and describe to screen readers the marked bars, or all of them if none is marked."""
        self.update()
        first, last = self.marked() or (0, self._source.axis.bars - 1)
        text = self.text_of(first, last)
        if text != self.accessibleDescription():
            self.setAccessibleDescription(text)
            if self.hasFocus():
                QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))


SHORT = ((Span.HOUR.value, "1h"), (Span.DAY.value, "1d"), (Span.WEEK.value, "1w"), (Span.ALL.value, "All"))
LONG = {Span.HOUR: "Last hour", Span.DAY: "Last day", Span.WEEK: "Last week", Span.ALL: "All kept"}
ROOMY = 380
"""Minimum width in pixels at which the total fits beside a selected time range."""


class ActivityStrip(QFrame):
    """`range_selected` carries a `TimeRange`, or None for all times."""

    range_selected = Signal(object)

    def __init__(self, activity: Activity, bus: Bus, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "header")
        self.times: TimeRange | None = None
        self.source = ActivitySource(activity, bus, tasks, self)
        self.chart = ActivityChart(self.source, theme, self)
        self.fold = IconButton("collapse", "Hide the activity chart", theme, self)
        self.summary = FittingLabel("small", self)
        self.chip = Button("", theme, self, icon="close")
        self.chip.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.chip.setProperty("part", "chip")
        self.chip.hide()
        self.spans = Segmented(SHORT, self, compact=True)
        self.spans.set_current(Span.HOUR)
        for span, text in LONG.items():
            self.spans.explain(span, text)
        row = hbox(
            self.fold,
            (self.summary, 1),
            Stretch(0),
            self.chip,
            Space(metrics.SPACE_1),
            self.spans,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_2, 0, metrics.SPACE_3, 0),
        )
        plot = hbox(self.chart, margins=(metrics.SPACE_4, 0, metrics.SPACE_4, 0))
        vbox(row, plot, inside=self, spacing=metrics.SPACE_1, margins=(0, metrics.SPACE_1, 0, metrics.SPACE_1))
        self.fold.clicked.connect(self.toggle)
        self.chip.clicked.connect(self.clear)
        self.chart.range_selected.connect(self._select_range)
        self.spans.activated.connect(self._set_span)
        self.source.changed.connect(self._show_summary)
        self._show_summary()

    @property
    def open(self) -> bool:
        """Whether the chart is expanded."""
        return not self.chart.isHidden()

    def show_endpoint(self, endpoint_id: int | None, times: TimeRange | None) -> None:
        """Show the requests of an endpoint, or of all (None), with this time range selected."""
        self._show_times(times)
        self.source.show(endpoint_id, self.source.span)

    def set_open(self, on: bool) -> None:
        """Expand or collapse the chart."""
        self.chart.setVisible(on)
        self.spans.setVisible(on)
        self.fold.set_icon_name("collapse" if on else "expand")
        self.fold.set_name("Hide the activity chart" if on else "Show the activity chart")
        self._show_summary()

    def set_span(self, span: Span) -> None:
        """Show this time span."""
        self.spans.set_current(span)
        self._set_span(span)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow strip hides the total."""
        super().resizeEvent(event)
        self._make_room()

    @Slot()
    def clear(self) -> None:
        """Clear the time range."""
        if self.times is not None:
            self._select_range(None)

    @Slot(object)
    def _select_range(self, times: TimeRange | None) -> None:
        self._show_times(times)
        self.range_selected.emit(times)

    def _show_times(self, times: TimeRange | None) -> None:
        self.times = times
        self.chart.show_time_range(times)
        if times is not None:
            text = period_text(times.start, times.end, now_us())
            self.chip.setText(text)
            self.chip.setAccessibleName(f"Showing {text} only. Show all times")
            self.chip.setToolTip("Show all times")
        self.chip.setVisible(times is not None)
        self._show_summary()

    @Slot()
    def toggle(self) -> None:
        self.set_open(not self.open)

    @Slot(str)
    def _set_span(self, span: str) -> None:
        self.source.show(self.source.endpoint_id, Span(span))

    @Slot()
    def _show_summary(self) -> None:
        selected = self.source.total_of(self.times) if self.times else None
        counted = self.source.total if selected is None else selected
        if not self.open:
            wordings = ["Activity"]
        else:
            text = counted.text() if selected is not None else counted.text().capitalize()
            wordings = [text, text.partition(", ")[0]]
            if counted.total:
                wordings.append(f"{counted.total:,}")
        self.summary.set_wordings(wordings)
        self._make_room()
        self.chart.setAccessibleName(f"Requests over time, {LONG[self.source.span].lower()}")

    def _make_room(self) -> None:
        self.summary.setVisible(self.times is None or not self.open or self.width() >= ROOMY)
