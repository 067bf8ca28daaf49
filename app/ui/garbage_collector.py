"""Garbage collection on the GUI thread only: elsewhere it could destroy widgets on the wrong thread.

Young objects are collected each second, the oldest generation once a minute; what start-up made is frozen out of it,
so that a collection stays far below a frame's time. While a program starts it makes hardly anything but what stays:
looking through all that again and again, as Python does on its own, would be a tenth of the start.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

YOUNG_MS = 1_000
FULL_EVERY = 60


class GuiCollector(QObject):
    """Takes garbage collection over while it lives; `stop` gives it back. `freeze` once the start is over."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._turn = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._collect)
        self._timer.start(YOUNG_MS)

    def freeze(self) -> None:
        """What there is now stays: look at it no more."""
        gc.freeze()

    def stop(self) -> None:
        """Let Python collect on its own again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def _collect(self) -> None:
        self._turn += 1
        gc.collect(2 if self._turn % FULL_EVERY == 0 else 1)
