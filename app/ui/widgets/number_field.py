"""A whole number within bounds: keeps whatever was typed, and says what is wrong with it."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QLineEdit, QWidget

from app.ui.theme.metrics import CONTROL, SPACE_2
from app.ui.widgets.labels import label
from app.ui.widgets.text_fields import quoted

_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})", re.ASCII)
_TEXT_MARGIN, _BUTTONS = 8, 24
"""Pixels left of the text, and right of the unit, where the arrows are."""


class NumberField(QAbstractSpinBox):
    """`title` names the field in `problem`; `changed` follows each edit.

    Not a QSpinBox: that ignores keys that would leave its range, so that typing 365 gives 36. `unit` is shown after
    the number, and `singular` after 1.
    """

    changed = Signal()

    def __init__(
        self,
        title: str,
        low: int,
        high: int,
        parent: QWidget | None = None,
        *,
        unit: str = "",
        singular: str = "",
        step: int = 1,
        grouped: bool = True,
    ) -> None:
        super().__init__(parent)
        self._title, self._low, self._high, self._step, self._grouped = title, low, high, step, grouped
        self._valid = low
        self._plural, self._singular = unit, singular or unit
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedHeight(CONTROL)
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, 0, 0)
        self._unit = label(unit, "faint", self)
        self._unit.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._unit.setVisible(bool(unit))
        # Qt reads what a screen reader is told from properties of these names.
        self.setProperty("minimum", low)
        self.setProperty("maximum", high)
        self.set_value(low)
        self.lineEdit().textChanged.connect(self._edited)
        self.editingFinished.connect(self._tidy)

    def range_text(self) -> str:
        """`1 to 90 days`."""
        return f"{self._formatted(self._low)} to {self._formatted(self._high)} {self._plural}".rstrip()

    def value(self) -> int:
        """The number as typed, in range or not; the last one that was in range where the text is no number."""
        number = self._parsed()
        return self._valid if number is None else number

    def set_value(self, value: int) -> None:
        """A number out of range is shown too, and is a problem."""
        self.lineEdit().setText(self._formatted(value))
        self._edited()

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        text, number = self.text().strip(), self._parsed()
        if not text:
            return f"{self._title} is required: {self.range_text()}."
        if number is None:
            return f"{self._title} must be a whole number, {self.range_text()}, not “{quoted(text)}”."
        if not self._low <= number <= self._high:
            return f"{self._title} must be {self.range_text()}, not {quoted(text)}."
        return None

    def lineEdit(self) -> QLineEdit:
        """Never None here."""
        edit = super().lineEdit()
        assert edit is not None
        return edit

    def stepBy(self, steps: int) -> None:
        """Step from the number typed, into the range."""
        self.set_value(max(self._low, min(self._high, self.value() + steps * self._step)))
        self.lineEdit().selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        """Not beyond an end of the range."""
        value = self.value()
        found = QAbstractSpinBox.StepEnabledFlag.StepNone
        if value < self._high:
            found |= QAbstractSpinBox.StepEnabledFlag.StepUpEnabled
        if value > self._low:
            found |= QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        return found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page Up and Page Down scroll the form, and do not step by ten."""
        if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling a form over the field must not change it."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def sizeHint(self) -> QSize:
        """Space for the longest number with its unit."""
        widest = max(self._formatted(self._low), self._formatted(self._high), key=len)
        text = self.fontMetrics().horizontalAdvance(f"{widest} {self._plural}")
        return QSize(_TEXT_MARGIN + text + 2 * SPACE_2 + _BUTTONS, CONTROL)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The unit stays beside the arrows."""
        super().resizeEvent(event)
        self._place_unit()

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs other margins."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._place_unit()

    def _place_unit(self) -> None:
        size = self._unit.sizeHint()
        right = self.width() - _BUTTONS
        self._unit.setGeometry(right - size.width(), (self.height() - size.height()) // 2, size.width(), size.height())
        room = size.width() + SPACE_2 if self._unit.text() else 0
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, room, 0)

    def _formatted(self, value: int) -> str:
        return f"{value:,}" if self._grouped else str(value)

    def _parsed(self) -> int | None:
        """The number in the field, with or without the unit and the commas of thousands."""
        text = self.text().strip()
        if self._plural and text.lower().endswith(self._plural.lower()):
            text = text[: -len(self._plural)].rstrip()
        return int(text.replace(",", "")) if _NUMBER.fullmatch(text) else None

    @Slot()
    def _edited(self) -> None:
        if self.problem() is None:
            self._valid = self.value()
            self.setProperty("value", self._valid)
        unit = self._singular if self.value() == 1 else self._plural
        if unit != self._unit.text():
            self._unit.setText(unit)
            self._place_unit()
        self.changed.emit()

    @Slot()
    def _tidy(self) -> None:
        """Write a number as the program does, once it is typed."""
        if self.problem() is None and self.text() != self._formatted(self.value()):
            self.set_value(self.value())
