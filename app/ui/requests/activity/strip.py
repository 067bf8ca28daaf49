"""The chart with its controls: the time span, the total, the selected time range, and a button to collapse it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.core.activity import Span, period_text
from app.core.clock import now_us
from app.core.events import Bus
from app.core.store import ActivityRepository
from app.ui.requests.activity.chart import ActivityChart
from app.ui.requests.activity.source import ActivitySource
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import FittingLabel
from app.ui.widgets.segmented import Segmented

SHORT = ((Span.HOUR.value, "1h"), (Span.DAY.value, "1d"), (Span.WEEK.value, "1w"), (Span.ALL.value, "All"))
LONG = {Span.HOUR: "Last hour", Span.DAY: "Last day", Span.WEEK: "Last week", Span.ALL: "All kept"}
ROOMY = 380
"""Minimum width in pixels at which the total fits beside a selected time range."""


class ActivityStrip(QFrame):
    """`range_selected` carries (start, end) in microseconds, or None for all times."""

    range_selected = Signal(object)

    def __init__(self, activity: ActivityRepository, bus: Bus, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "header")
        self.times: tuple[int, int] | None = None
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
        self._lay_out()
        self.fold.clicked.connect(self._toggle)
        self.chip.clicked.connect(self.clear)
        self.chart.range_selected.connect(self._select_range)
        self.chart.cleared.connect(self.clear)
        self.spans.activated.connect(self._set_span)
        self.source.changed.connect(self._show_summary)
        self._show_summary()

    @property
    def open(self) -> bool:
        """Whether the chart is expanded."""
        return not self.chart.isHidden()

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self.source.stop()

    def show_endpoint(self, endpoint_id: int | None) -> None:
        """Show the requests of an endpoint, or of all (None), without a time range."""
        self._show_times(None)
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
            self._show_times(None)
            self.range_selected.emit(None)

    @Slot(object, object)
    def _select_range(self, start: int, end: int) -> None:
        self._show_times((start, end))
        self.range_selected.emit((start, end))

    def _show_times(self, times: tuple[int, int] | None) -> None:
        self.times = times
        self.chart.show_time_range(times)
        if times is not None:
            text = period_text(*times, now_us())
            self.chip.setText(text)
            self.chip.setAccessibleName(f"Showing {text} only. Show all times")
            self.chip.setToolTip("Show all times")
        self.chip.setVisible(times is not None)
        self._show_summary()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(metrics.SPACE_2, 0, metrics.SPACE_3, 0)
        row.setSpacing(metrics.SPACE_1)
        row.addWidget(self.fold)
        row.addWidget(self.summary, 1)
        row.addStretch(0)
        row.addWidget(self.chip)
        row.addSpacing(metrics.SPACE_1)
        row.addWidget(self.spans)
        plot = QHBoxLayout()
        plot.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_4, 0)
        plot.addWidget(self.chart)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, metrics.SPACE_1, 0, metrics.SPACE_1)
        column.setSpacing(metrics.SPACE_1)
        column.addLayout(row)
        column.addLayout(plot)

    @Slot()
    def _toggle(self) -> None:
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
