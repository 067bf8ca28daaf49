"""The parts of the form for a replay of many requests: which ones, how fast, and which faults."""

from __future__ import annotations

import random

from PySide6.QtCore import QDateTime, Qt, Signal, Slot
from PySide6.QtWidgets import QDateTimeEdit, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.core.replay.spec import (
    CONCURRENCY_MAX,
    DELAY_MAX_MS,
    GAP_MAX_MS,
    RATE_MAX,
    SCALE_MAX,
    TIMES_MAX,
    BackToBack,
    Faults,
    FixedRate,
    OriginalGaps,
    Pace,
)
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.number_field import NumberField
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.text_fields import DecimalField

BACK_TO_BACK, RATE, GAPS = "back_to_back", "rate", "gaps"
SEEDS = 10**9
FAULTS = (
    ("duplicate", "Duplicate", "Sent twice"),
    ("swap", "Swap", "Trades places with the next one"),
    ("drop", "Drop", "Not sent"),
    ("delay", "Delay", "Sent late, while others go ahead"),
    ("cut_off", "Cut off", "The connection closes within the body"),
)
FAULTS_HELP = "Tests how your code handles duplicate, late and lost requests."


def _row(*fields: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(metrics.SPACE_3)
    for field in fields:
        row.addWidget(field, 1, Qt.AlignmentFlag.AlignTop)
    return row


def section(title: str, parent: QWidget) -> QLabel:
    """The heading of a part of the form."""
    return label(title.upper(), "section", parent)


class TimesField(QWidget):
    """From one local time to another; `value` is in microseconds."""

    changed = Signal()

    def __init__(self, start: int, end: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.start, self.end = _time_edit(start, self), _time_edit(end, self)
        self.fields = {
            "source.received_after": LabeledField("From", self.start, self),
            "source.received_before": LabeledField("Until", self.end, self),
        }
        row = _row(*self.fields.values())
        row.setContentsMargins(0, 0, 0, 0)
        self.setLayout(row)
        for edit in (self.start, self.end):
            edit.dateTimeChanged.connect(self._edited)

    def value(self) -> tuple[int, int]:
        start, end = (edit.dateTime().toMSecsSinceEpoch() * 1_000 for edit in (self.start, self.end))
        return start, end

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()


def _time_edit(at_us: int, parent: QWidget) -> QDateTimeEdit:
    edit = QDateTimeEdit(QDateTime.fromMSecsSinceEpoch(at_us // 1_000), parent)
    edit.setDisplayFormat("yyyy-MM-dd HH:mm:ss")
    edit.setFixedHeight(metrics.CONTROL)
    edit.findChildren(QLineEdit)[0].setTextMargins(metrics.SPACE_2, 0, 0, 0)
    return edit


class PaceSection(QWidget):
    """How fast, how many at once, and how often."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        kinds = ((BACK_TO_BACK, "Back to back"), (RATE, "At a rate"), (GAPS, "Original gaps"))
        self.kind = Segmented(kinds, self)
        self.kind.setAccessibleName("Pace")
        self.rate = DecimalField("Rate", RATE_MAX, self, unit="per second", zero=False)
        self.speed = DecimalField("Speed", SCALE_MAX, self, unit="times as fast", zero=False)
        self.longest = DecimalField("Longest gap", GAP_MAX_MS / 1_000, self, unit="s", placeholder="no limit")
        self.concurrency = NumberField("At once", 1, CONCURRENCY_MAX, self)
        self.times = NumberField("Times each", 1, TIMES_MAX, self)
        self.fields = {
            "pace.per_second": LabeledField("Rate", self.rate, self),
            "pace.scale": LabeledField("Speed", self.speed, self),
            "pace.longest_gap_ms": LabeledField("Longest gap", self.longest, self),
            "concurrency": LabeledField("At once", self.concurrency, self, help_text=_range(self.concurrency)),
            "times": LabeledField("Times each", self.times, self, help_text="More than 1 for a small load test."),
        }
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_3)
        column.addWidget(section("Pace", self))
        column.addWidget(self.kind, 0, Qt.AlignmentFlag.AlignLeft)
        column.addLayout(_row(*self.fields.values()))
        self.rate.set_value(10)
        self.speed.set_value(1)
        self.kind.set_current(BACK_TO_BACK)
        self.kind.activated.connect(self._edited)
        for field in (self.rate, self.speed, self.longest):
            field.textEdited.connect(self._edited)
        for number in (self.concurrency, self.times):
            number.changed.connect(self._edited)
        self._show_fields()

    def value(self) -> Pace:
        """With the last valid numbers; `problems` names the others."""
        kind = self.kind.current()
        if kind == RATE:
            return FixedRate(per_second=self.rate.value() or 1)
        if kind == GAPS:
            longest = self.longest.value()
            gap_ms = None if longest is None else round(longest * 1_000)
            return OriginalGaps(scale=1 / (self.speed.value() or 1), longest_gap_ms=gap_ms)
        return BackToBack()

    def problems(self) -> dict[str, str | None]:
        kind = self.kind.current()
        return {
            "pace.per_second": self.rate.problem() if kind == RATE else None,
            "pace.scale": self.speed.problem() if kind == GAPS else None,
            "pace.longest_gap_ms": self.longest.problem() if kind == GAPS else None,
            "concurrency": self.concurrency.problem(),
            "times": self.times.problem(),
        }

    @Slot()
    def _edited(self) -> None:
        self._show_fields()
        self.changed.emit()

    def _show_fields(self) -> None:
        kind = self.kind.current()
        self.fields["pace.per_second"].setVisible(kind == RATE)
        self.fields["pace.scale"].setVisible(kind == GAPS)
        self.fields["pace.longest_gap_ms"].setVisible(kind == GAPS)


class FaultsSection(QWidget):
    """The faults, in percent, and the seed that repeats them."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.shares = {name: DecimalField(title, 100, self, unit="%") for name, title, _ in FAULTS}
        self.delay = NumberField("Longest delay", 0, DELAY_MAX_MS, self, unit="ms", step=100)
        self.seed = NumberField("Seed", 0, SEEDS, self, grouped=False)
        self.new_seed = Button("New seed", theme, self)
        self.fields = {f"faults.{name}": LabeledField(title, self.shares[name], self) for name, title, _ in FAULTS} | {
            "faults.delay_max_ms": LabeledField("Longest delay", self.delay, self),
            "seed": LabeledField("Seed", self._seed_row(), self, help_text="The same seed makes the same faults."),
        }
        for name, _, meaning in FAULTS:
            self.shares[name].setToolTip(meaning)
            self.shares[name].setAccessibleDescription(meaning)
            self.shares[name].set_value(0)
            self.shares[name].textEdited.connect(self._edited)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_3)
        heading = QVBoxLayout()
        heading.setSpacing(metrics.SPACE_1)
        heading.addWidget(section("Faults", self))
        heading.addWidget(label(FAULTS_HELP, "faint", self, wrap=True))
        column.addLayout(heading)
        fields = list(self.fields.values())
        column.addLayout(_row(*fields[: len(FAULTS)]))
        self._more = QWidget(self)
        more = _row(*fields[len(FAULTS) :])
        more.setContentsMargins(0, 0, 0, 0)
        self._more.setLayout(more)
        column.addWidget(self._more)
        self.delay.set_value(1_000)
        self._draw_seed()
        self.delay.changed.connect(self._edited)
        self.seed.changed.connect(self._edited)
        self.new_seed.clicked.connect(self._draw_seed)
        self._show_fields()

    def value(self) -> Faults:
        """With 0 for what has a problem."""
        shares = {name: (field.value() or 0) / 100 for name, field in self.shares.items()}
        return Faults(**shares, delay_max_ms=self.delay.value())

    def problems(self) -> dict[str, str | None]:
        problems = {f"faults.{name}": field.problem() for name, field in self.shares.items()}
        enabled = self._more.isVisibleTo(self)
        return problems | {
            "faults.delay_max_ms": self.delay.problem() if enabled else None,
            "seed": self.seed.problem() if enabled else None,
        }

    def _seed_row(self) -> QWidget:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.seed, 1)
        row.addWidget(self.new_seed)
        holder.setFocusProxy(self.seed)
        self.seed.setAccessibleName("Seed")
        return holder

    @Slot()
    def _draw_seed(self) -> None:
        self.seed.set_value(random.randrange(SEEDS))

    @Slot()
    def _edited(self) -> None:
        self._show_fields()
        self.changed.emit()

    def _show_fields(self) -> None:
        self._more.setVisible(self.value().enabled)
        self.fields["faults.delay_max_ms"].setEnabled(bool(self.shares["delay"].value()))


def _range(field: NumberField) -> str:
    return f"{field.range_text()}."
