"""Surfaces with a hairline border, and hairlines."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from app.ui.theme import metrics


class Card(QFrame):
    """A raised surface; add content to `body`."""

    def __init__(self, parent: QWidget | None = None, *, padding: int = metrics.SPACE_4) -> None:
        super().__init__(parent)
        self.setProperty("part", "card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(padding, padding, padding, padding)
        self.body.setSpacing(metrics.SPACE_2)


def line(parent: QWidget | None = None, *, vertical: bool = False) -> QFrame:
    result = QFrame(parent)
    result.setProperty("part", "line")
    if vertical:
        result.setFixedWidth(1)
        result.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
    else:
        result.setFixedHeight(1)
        result.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return result
