"""The chart widget: hovering shows a bar's counts, a drag or the arrow keys select a time range."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.core.activity import BARS_MAX, EMPTY_BAR, Axis, period_text
from app.core.clock import now_us
from app.ui.requests.activity.painting import HEIGHT, ChartPicture, paint_chart
from app.ui.requests.activity.source import ActivitySource
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import by_keyboard
from app.ui.widgets.labels import plain_tooltip

MOVES = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Home: -BARS_MAX, Qt.Key.Key_End: BARS_MAX}
APPLIES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class BarSelection:
    """The range from the first bar to the current one; empty at first."""

    def __init__(self) -> None:
        self._anchor: int | None = None
        self._cursor: int | None = None

    def __bool__(self) -> bool:
        return self._cursor is not None

    def clear(self) -> None:
        self._anchor = self._cursor = None

    def put(self, axis: Axis, bar: int, *, extend: bool) -> None:
        """Mark this bar, or with `extend` all bars from the first one on."""
        self._cursor = axis.edges[bar]
        if self._anchor is None or not extend:
            self._anchor = self._cursor

    def move(self, axis: Axis, step: int, *, extend: bool) -> None:
        """Move by this many bars, within the chart; the first single step goes to the newest bar."""
        last = axis.bars - 1
        now = axis.bar_of(self._cursor) if self._cursor is not None else None
        target = last if now is None and abs(step) == 1 else (last if now is None else now) + step
        self.put(axis, max(0, min(last, target)), extend=extend)

    def bars(self, axis: Axis) -> tuple[int, int] | None:
        """The first and the last marked bar; None if nothing is marked, or if an end has moved out of the chart."""
        ends = [axis.bar_of(at) for at in (self._anchor, self._cursor) if at is not None]
        found = [bar for bar in ends if bar is not None]
        return (min(found), max(found)) if len(found) == 2 else None


class ActivityChart(QWidget):
    """`range_selected` carries the start and end of a time range, `cleared` asks for all times."""

    accessible_role = QAccessible.Role.Chart

    range_selected = Signal(object, object)
    cleared = Signal()

    def __init__(self, source: ActivitySource, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source, self._theme = source, theme
        self._times: tuple[int, int] | None = None
        self._marks = BarSelection()
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

    def show_time_range(self, times: tuple[int, int] | None) -> None:
        """Show the selected time range."""
        self._times = times
        self._unmark()

    def marked(self) -> tuple[int, int] | None:
        """The first and last of the bars being selected."""
        return self._marks.bars(self._source.axis)

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

    def paintEvent(self, event: QPaintEvent) -> None:
        axis, selected = self._source.axis, None
        if self._times is not None:
            selected = (axis.place(self._times[0]), axis.place(self._times[1]))
        picture = ChartPicture(
            axis=axis,
            bars=self._source.bars,
            selected=selected,
            marked=self.marked(),
            hovered=self._hovered if not self._dragging else None,
            ringed=self.hasFocus() and self._by_keyboard,
        )
        paint_chart(QPainter(self), QRectF(self.rect()), picture, self._theme.tokens)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A drag starts."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._dragging = True
            self._mark(event, extend=False)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the counts under the pointer, or those of the range being selected."""
        self._hovered = self._source.axis.bar_at(event.position().x(), self.width())
        if self._dragging:
            self._mark(event, extend=True)
        first, last = (self.marked() if self._dragging else None) or (self._hovered, self._hovered)
        QToolTip.showText(event.globalPosition().toPoint(), plain_tooltip(self.text_of(first, last)), self)
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the range; a click selects one bar."""
        if event.button() == Qt.MouseButton.LeftButton and self._dragging:
            self._dragging = False
            self._mark(event, extend=True)
            self._select_range()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = None
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move over the bars and extend the range with Shift; Enter selects it, Esc clears it."""
        key = Qt.Key(event.key())
        pending = bool(self._marks)
        if key in MOVES:
            self._by_keyboard = True
            extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._marks.move(self._source.axis, MOVES[key], extend=extend)
            self._follow()
        elif key in APPLIES and pending:
            self._select_range()
        elif key == Qt.Key.Key_Escape and pending:
            self._dragging = False
            self._unmark()
        elif key == Qt.Key.Key_Escape and self._times is not None:
            self.cleared.emit()
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

    def _mark(self, event: QMouseEvent, *, extend: bool) -> None:
        bar = self._source.axis.bar_at(event.position().x(), self.width())
        self._marks.put(self._source.axis, bar, extend=extend)
        self._follow()

    def _select_range(self) -> None:
        marked = self.marked()
        if marked is not None:
            start, end = self._source.axis.between(*marked)
            self.range_selected.emit(start, end)
        self._unmark()

    def _unmark(self) -> None:
        self._marks.clear()
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self._update_description()
        self.update()

    def _update_description(self) -> None:
        """The text for screen readers: the marked bars, or all that are shown."""
        first, last = self.marked() or (0, self._source.axis.bars - 1)
        text = self.text_of(first, last)
        if text != self.accessibleDescription():
            self.setAccessibleDescription(text)
            if self.hasFocus():
                QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))
