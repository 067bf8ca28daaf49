"""A number that may have decimals: keeps whatever was typed, and says what is wrong with it."""

from __future__ import annotations

import re

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.ui.widgets.labels import label

_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", re.ASCII)
_QUOTED_MAX = 24
_MARGIN = 8


class DecimalField(QLineEdit):
    """From more than 0, or 0 if `zero`, to `high`. An empty field is None where it has a placeholder. `unit` is shown
    at the end.
    """

    def __init__(
        self, title: str, high: float, parent: QWidget, *, unit: str = "", zero: bool = True, placeholder: str = ""
    ) -> None:
        super().__init__(parent)
        self._title, self._high, self._zero = title, high, zero
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(title)
        self._unit = label(unit, "faint", self)
        self._unit.adjustSize()
        self.setTextMargins(0, 0, self._unit.width() + _MARGIN if unit else 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the unit at the right."""
        super().resizeEvent(event)
        size = self._unit.sizeHint()
        self._unit.move(self.width() - size.width() - _MARGIN, (self.height() - size.height()) // 2)
        self._unit.resize(size)

    def set_value(self, value: float | None) -> None:
        self.setText("" if value is None else f"{value:.10g}")

    def value(self) -> float | None:
        """None if it is empty or has a problem."""
        text = self.text().strip()
        return float(text) if _NUMBER.fullmatch(text) and self.problem() is None else None

    def problem(self) -> str | None:
        """Why the text is no number here; None if it is."""
        text = self.text().strip()
        if not text and self.placeholderText():
            return None
        bounds = f"{'0' if self._zero else 'more than 0'} to {self._high:,g}"
        if not _NUMBER.fullmatch(text):
            quoted = text if len(text) <= _QUOTED_MAX else f"{text[:_QUOTED_MAX]}…"
            given = f", not “{quoted}”" if quoted else ""
            return f"{self._title} must be a number, {bounds}{given}."
        number = float(text)
        if number > self._high or (number == 0 and not self._zero):
            return f"{self._title} must be {bounds}, not {number:,g}."
        return None
