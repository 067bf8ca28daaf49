"""A hairline that moves while a search runs, or grows with what was searched once that is known."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme

HEIGHT = 2
PATIENCE_MS = 120
"""A search that is quicker shows nothing, so that nothing flickers while one types."""
FRAME_MS = 33
STEP, PART = 0.02, 0.3
"""How far it moves with each frame, and how long it is, of the whole width."""


class ProgressLine(QWidget):
    """Takes its room always."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place = 0.0
        self._share: float | None = None
        self._running = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._frames = QTimer(self)
        self._frames.setInterval(FRAME_MS)
        self._patience.timeout.connect(self._frames.start)
        self._frames.timeout.connect(self._move)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)

    def set_running(self, running: bool) -> None:
        """Begin to move soon, or end."""
        if running == self._running:
            return
        self._running = running
        if running:
            self._place, self._share = 0.0, None
            self._patience.start()
        else:
            self._patience.stop()
            self._frames.stop()
            self.update()

    def set_share(self, share: float | None) -> None:
        """So much has been searched, 0 to 1; None when that is not known."""
        if share != self._share:
            self._share = share
            self.update()

    def seen(self) -> bool:
        """Whether there is anything to see."""
        return self._frames.isActive()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A part of the line, further on with each frame, or the share that is done."""
        if not self.seen():
            return
        if self._share is None:
            width = self.width() * PART
            left = (self._place % 1.0) * (self.width() + width) - width
        else:
            left, width = 0.0, self.width() * self._share
        QPainter(self).fillRect(QRectF(left, 0, width, self.height()), QColor(self._theme.tokens.accent))

    @Slot()
    def _move(self) -> None:
        self._place += STEP
        if self._share is None:
            self.update()
