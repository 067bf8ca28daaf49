"""Content that scrolls if the screen is too small for it, and otherwise looks as if it did not."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


class Scrolling(QScrollArea):
    """Prefers the size of `content`, and can shrink to `least`; a least width of 0 means the content's own, so that it
    never scrolls sideways.
    """

    def __init__(self, content: QWidget, least: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self._content, self._least = content, least
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        if not least.width():
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)

    def hasHeightForWidth(self) -> bool:
        return self._content.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        return self._content.heightForWidth(width)

    def sizeHint(self) -> QSize:
        return self._content.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Never more than the content's own."""
        needed = self._content.minimumSizeHint()
        return QSize(self._least.width() or needed.width(), self._least.height()).boundedTo(needed)
