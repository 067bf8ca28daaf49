"""Qt's application object, which handles the system's request to quit and, on macOS, links clicked in other programs;
and when Python's garbage is collected while a window is open."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from app.ui.widgets import accessible

YOUNG_MS = 1_000
FULL_EVERY = 60


class GuiApplication(QApplication):
    """Stores links until a handler is set: the first may arrive before there is a window.

    `quit_requested` follows when the system or the Dock quits the program. Qt itself would close the windows, and one
    that is hidden in the tray on closing would prevent that.

    Not an event filter, which would be called for every event of every object.
    """

    quit_requested = Signal()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._links: list[str] = []
        self._handler: Callable[[str], None] | None = None
        accessible.install()

    def set_link_handler(self, handler: Callable[[str], None] | None) -> None:
        """Call `handler` with each link, the stored ones first; None stores them again."""
        self._handler = handler
        while handler is not None and self._links:
            handler(self._links.pop(0))

    def event(self, event: QEvent) -> bool:
        """Handle links and quit events; Qt handles the others."""
        if event.type() == QEvent.Type.Quit:
            self.quit_requested.emit()
            return True
        if not isinstance(event, QFileOpenEvent):
            return super().event(event)
        self._links.append(event.url().toString() or event.file())
        self.set_link_handler(self._handler)
        return True


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
