"""The retention in days, set with a slider or as a number."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from app.core.rules import RETENTION_DEFAULT, RETENTION_MAX, RETENTION_MIN
from app.ui.theme import metrics
from app.ui.widgets.number_field import NumberField


class RetentionControl(QWidget):
    """A number field, and a slider that follows it while the number is in range."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = _Slider(self)
        self.slider.setRange(RETENTION_MIN, RETENTION_MAX)
        self.slider.setAccessibleName("Retention in days, slider")
        self.days = NumberField("Retention", RETENTION_MIN, RETENTION_MAX, self, unit="days")
        self.days.setAccessibleName("Retention in days")
        self.days.setFixedWidth(104)
        self.slider.valueChanged.connect(self._slid)
        self.days.changed.connect(self._typed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_4)
        row.addWidget(self.slider, 1)
        row.addWidget(self.days)
        self.setFocusProxy(self.days)
        self.set_value(RETENTION_DEFAULT)

    def value(self) -> int:
        """Days, as typed."""
        return self.days.value()

    def problem(self) -> str | None:
        """Why the number cannot be saved; None if it can."""
        return self.days.problem()

    def set_value(self, days: int) -> None:
        self.days.set_value(days)

    @Slot(int)
    def _slid(self, days: int) -> None:
        if days != self.days.value():
            self.days.set_value(days)

    @Slot()
    def _typed(self) -> None:
        days = self.days.value()
        self.days.set_unit("day" if days == 1 else "days")
        nearest = max(RETENTION_MIN, min(RETENTION_MAX, days))
        if nearest != days or self.days.problem() is None:
            self.slider.blockSignals(True)  # The slider only follows here.
            self.slider.setValue(nearest)
            self.slider.blockSignals(False)
        self.changed.emit()


class _Slider(QSlider):
    """A horizontal slider; the wheel scrolls the form instead."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setPageStep(7)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the form."""
        event.ignore()
