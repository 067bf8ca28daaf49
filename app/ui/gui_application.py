"""Qt's application object, which on macOS is told of the links that are clicked elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class GuiApplication(QApplication):
    """Keeps links until somebody takes them: the first may come before there is a window.

    Not an event filter, which would be called for every event of every object.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._links: list[str] = []
        self._take: Callable[[str], None] | None = None

    def hand_links_to(self, take: Callable[[str], None] | None) -> None:
        """Call `take` with each link as it was handed on, those that waited first; None keeps them again."""
        self._take = take
        while take is not None and self._links:
            take(self._links.pop(0))

    def event(self, event: QEvent) -> bool:
        """Take links; all else is Qt's."""
        if not isinstance(event, QFileOpenEvent):
            return super().event(event)
        self._links.append(event.url().toString() or event.file())
        self.hand_links_to(self._take)
        return True
