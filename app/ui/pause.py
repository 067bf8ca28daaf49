"""Pauses the lists and notifications of the window; capturing continues."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot


class Pause(QObject):
    """While `on`, lists only count new requests and no notifications are shown."""

    changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.on = False

    @Slot(bool)
    def set(self, on: bool) -> None:
        """Pause or resume."""
        if on != self.on:
            self.on = on
            self.changed.emit(on)

    @Slot()
    def toggle(self) -> None:
        """Pause, or resume if paused."""
        self.set(not self.on)
