"""The toolbar above a body: the view selector, facts about the body, and buttons."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.theme import metrics


def body_toolbar(views: QWidget, facts: QWidget, buttons: Iterable[QWidget]) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2)
    row.setSpacing(2)  # all of it fits a third of 960 pixels
    row.addWidget(views)
    row.addSpacing(2)
    row.addWidget(facts, 1)
    for button in buttons:
        row.addWidget(button)
    return row
