"""The one switch that holds the window still while capturing goes on."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot


class Pause(QObject):
    """While `on`, lists only count what is new and nothing is notified. Nothing is refused, and nothing is lost."""

    changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.on = False

    @Slot(bool)
    def set(self, on: bool) -> None:
        """Pause, or go on."""
        if on != self.on:
            self.on = on
            self.changed.emit(on)

    @Slot()
    def toggle(self) -> None:
        """Pause where it runs, go on where it is paused."""
        self.set(not self.on)
