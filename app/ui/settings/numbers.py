"""Number fields with the bounds that the settings declare."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.core.settings import bounds, meta
from app.core.sizes import MIB, exact_size
from app.ui.widgets.number_field import NumberField


def port_field(key: str, parent: QWidget) -> NumberField:
    """A port, written without commas."""
    low, high = bounds(key) or (1, 65535)
    return NumberField(meta(key).title or key, low, high, parent, grouped=False)


def mib_field(key: str, parent: QWidget, *, step: int = 1) -> NumberField:
    """A size in whole MiB."""
    low, high = bounds(key) or (MIB, MIB)
    least, most = max(1, low // MIB), high // MIB
    words = f"{exact_size(least * MIB)} to {exact_size(most * MIB)}"
    return NumberField(meta(key).title or key, least, most, parent, unit="MiB", step=step, bounds_text=words)


def whole_mib(size: int) -> int:
    """The number such a field shows for `size` bytes."""
    return max(1, round(size / MIB))
