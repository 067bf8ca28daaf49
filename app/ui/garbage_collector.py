"""When Python's garbage is collected while a window is open."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

YOUNG_MS = 1_000


FULL_EVERY = 60


class GuiCollector(QObject):
    """Collects garbage on the GUI thread until `stop`: elsewhere that could destroy widgets on the wrong thread. Call
    `freeze` after start-up.

    Young objects are collected each second, the oldest generation once a minute. Objects created at start-up are
    frozen, so that a collection takes much less than a frame. While a program starts, nearly all objects it creates are
    kept: collecting them repeatedly, as Python does by default, would take a tenth of the start-up time.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._turn, self._frozen = 0, False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._collect)
        self._timer.start(YOUNG_MS)

    def freeze(self) -> None:
        """Exclude all present objects from later collections. The next time, those are collected first that were for a
        window that is gone."""
        if self._frozen:
            gc.unfreeze()
            gc.collect()
        self._frozen = True
        gc.freeze()

    def stop(self) -> None:
        """Let Python collect automatically again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def _collect(self) -> None:
        self._turn += 1
        gc.collect(2 if self._turn % FULL_EVERY == 0 else 1)
