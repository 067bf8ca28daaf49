"""Qt's application object: handles the system's request to quit and, on macOS, links clicked in other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from app.ui.widgets import accessible


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
