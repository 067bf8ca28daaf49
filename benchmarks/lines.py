"""Lines of a table of measurements, with their bars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A measurement. `bar` is the most it may be, or, when `least`, the least."""

    name: str
    value: float
    unit: str = ""
    bar: float | None = None
    least: bool = False

    def __str__(self) -> str:
        text = f"{self.name:<62}{self.value:>12,.{0 if not self.unit else 2 if self.least else 1}f} {self.unit:<5}"
        if self.bar is None:
            return text.rstrip()
        good = self.value >= self.bar if self.least else self.value <= self.bar
        return f"{text} {'ok' if good else 'MISSED'} (at {'least' if self.least else 'most'} {self.bar:g})"
