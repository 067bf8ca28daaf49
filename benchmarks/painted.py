"""Waits until a window is painted."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

LIMIT_S = 60.0


class Painted(QObject):
    """Knows whether a widget was painted yet."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._first = asyncio.Event()
        widget.installEventFilter(self)

    async def wait(self) -> None:
        """Until it was."""
        await asyncio.wait_for(self._first.wait(), LIMIT_S)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let all through."""
        if event.type() == QEvent.Type.Paint:
            self._first.set()
        return False
