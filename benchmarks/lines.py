"""Lines of a table of measurements, with their bars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A measurement. `bar` is the most it may be, or, when `least`, the least."""

    name: str
    value: float
    unit: str = ""
    bar: float | None = None
    least: bool = False
    busy_ms: float | None = None
    """Of a time, what processors worked on it: the rest was waited for, on a loaded machine for other programs."""

    @property
    def missed(self) -> bool:
        """Whether it has a bar and is on the wrong side of it. What is no number has missed it."""
        return self.bar is not None and not (self.value >= self.bar if self.least else self.value <= self.bar)

    def __str__(self) -> str:
        busy = "" if self.busy_ms is None else f"  {self.busy_ms:,.1f} ms on the processor"
        return f"{self._measured()}{busy}"

    def _measured(self) -> str:
        text = f"{self.name:<62}{self.value:>12,.{0 if not self.unit else 2 if self.least else 1}f} {self.unit:<5}"
        if self.bar is None:
            return text.rstrip()
        return f"{text} {'MISSED' if self.missed else 'ok'} (at {'least' if self.least else 'most'} {self.bar:g})"


def exit_status(lines: Iterable[Line]) -> int:
    """1 if a bar was missed."""
    return int(any(line.missed for line in lines))
