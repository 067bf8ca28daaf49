"""A length of time with its unit, such as 500 ms, 10 s or 5 min."""

from __future__ import annotations

import re

from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.text import exact_duration

_UNITS = {"ms": 1, "s": 1_000, "sec": 1_000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,12}|[0-9]{1,9}\.[0-9]{1,3})\s*([a-z]+)", re.ASCII)
_QUOTED_MAX = 24


def parse_duration(text: str) -> int | None:
    """Milliseconds; None if it is no number with a unit, or no whole number of milliseconds."""
    found = _DURATION.fullmatch(text.strip().lower().replace(",", ""))
    if found is None or found[2] not in _UNITS:
        return None
    ms = round(float(found[1]) * _UNITS[found[2]], 6)
    return int(ms) if ms == int(ms) else None


class DurationField(QLineEdit):
    """`title` names the field in `problem`; `low` and `high` are its bounds in milliseconds."""

    def __init__(self, title: str, low: int, high: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._low, self._high = title, low, high
        self._valid = low
        self.setPlaceholderText(exact_duration(max(low, 1_000)))

    def range_text(self) -> str:
        """`100 ms to 10 min`."""
        return f"{exact_duration(self._low)} to {exact_duration(self._high)}"

    def value(self) -> int:
        """Milliseconds, in range or not; the last valid value where the text is no time."""
        ms = parse_duration(self.text())
        if ms is None:
            return self._valid
        if self._low <= ms <= self._high:
            self._valid = ms
        return ms

    def set_value(self, ms: int) -> None:
        self._valid = ms
        self.setText(exact_duration(ms))

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        text = self.text().strip()
        quoted = text if len(text) <= _QUOTED_MAX else f"{text[:_QUOTED_MAX]}…"
        if not text:
            return f"{self._title} is required: {self.range_text()}."
        ms = parse_duration(text)
        if ms is None:
            return f"{self._title} must be a time with its unit, such as 500 ms, 10 s or 5 min, not “{quoted}”."
        if not self._low <= ms <= self._high:
            return f"{self._title} must be {self.range_text()}, not {quoted}."
        return None
