"""A label that switches to a shorter text if there is not enough space."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.ui.widgets.labels import ElidedLabel


class FittingLabel(ElidedLabel):
    """`set_wordings` takes the texts from longest to shortest; the first one, or `meaning`, is the tooltip and the
    accessible name.
    """

    def __init__(self, kind: str, parent: QWidget) -> None:
        super().__init__("", kind, parent)
        self._wordings: tuple[str, ...] = ("",)

    def set_wordings(self, wordings: Sequence[str], meaning: str = "") -> None:
        """Show the first text that fits, or else the last."""
        self._wordings = tuple(wordings)
        self.set_meaning(meaning or self._wordings[0])
        self._choose()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Wide enough for the longest text, whichever is shown."""
        margins = self.contentsMargins()
        width = self.fontMetrics().horizontalAdvance(self._wordings[0]) + 2 + margins.left() + margins.right()
        return QSize(width, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._wordings[0])

    def _choose(self) -> None:
        room, fm = self.contentsRect().width(), self.fontMetrics()
        fitting = (text for text in self._wordings if fm.horizontalAdvance(text) <= room)
        text = next(fitting, self._wordings[-1])
        if text != self.text():
            self.setText(text)
