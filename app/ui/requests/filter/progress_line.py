"""A hairline that moves while a search runs, or grows with the share searched once that is known."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme

HEIGHT = 2
PATIENCE_MS = 120
"""A faster search shows nothing, so that nothing flickers while the user types."""
FRAME_MS = 33
STEP, PART = 0.02, 0.3
"""Movement per frame and length, as shares of the width."""


class ProgressLine(QWidget):
    """Occupies its space even while nothing is shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place = 0.0
        self._share: float | None = None
        self._running = False
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._frames = QTimer(self, interval=FRAME_MS)
        self._patience.timeout.connect(self._frames.start)
        self._frames.timeout.connect(self._move)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)

    def set_running(self, running: bool) -> None:
        """Start after a moment, or end."""
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
        """The share searched, 0 to 1; None if unknown."""
        if share != self._share:
            self._share = share
            self.update()

    def is_showing(self) -> bool:
        """Whether anything is visible."""
        return self._frames.isActive()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the moving part, or the share that is done."""
        if not self.is_showing():
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
